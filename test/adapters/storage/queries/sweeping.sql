-- closeUnusedLists
-- postgres
update status_lists set closed_at = $1 where closed_at is null and created_at <= $2 and not exists (
  select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null offset 0);
-- sqlite
update status_lists set closed_at = ? where closed_at is null and created_at <= ? and not exists (
  select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null );

-- deleteUnusedLists
-- postgres
delete from status_lists where closed_at <= $1 and created_at <= $2 and not exists (
  select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null offset 0);
-- sqlite
delete from status_lists where closed_at <= ? and created_at <= ? and not exists (
  select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null );

-- forget_pending_unblocks
-- postgres
delete from pending_unblocks where ctid = any (array(select ctid from pending_unblocks where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from pending_unblocks where (sponsor_key) in (
  select sponsor_key from pending_unblocks where forget_at <= ? order by forget_at limit ?);

-- forget_authorizations
-- postgres
delete from authorizations where ctid = any (array(select ctid from authorizations where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from authorizations where (request_id) in (
  select request_id from authorizations where forget_at <= ? order by forget_at limit ?);

-- forget_authorization_ends
-- postgres
delete from authorization_ends where ctid = any (array(select ctid from authorization_ends where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from authorization_ends where (kind, name) in (
  select kind, name from authorization_ends where forget_at <= ? order by forget_at limit ?);

-- forget_asked_questions
-- postgres
delete from asked_questions where ctid = any (array(select ctid from asked_questions where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from asked_questions where (sponsor_key, agent_id) in (
  select sponsor_key, agent_id from asked_questions where forget_at <= ? order by forget_at limit ?);

-- forget_revoked_tokens
-- postgres
delete from revoked_tokens where ctid = any (array(select ctid from revoked_tokens where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from revoked_tokens where (jti) in (
  select jti from revoked_tokens where forget_at <= ? order by forget_at limit ?);

-- forget_spent_assertions
-- postgres
delete from spent_assertions where ctid = any (array(select ctid from spent_assertions where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from spent_assertions where (agent_id, jti) in (
  select agent_id, jti from spent_assertions where forget_at <= ? order by forget_at limit ?);

-- forget_accepted_signals
-- postgres
delete from accepted_signals where ctid = any (array(select ctid from accepted_signals where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from accepted_signals where (receiver, issuer, jti) in (
  select receiver, issuer, jti from accepted_signals where forget_at <= ? order by forget_at limit ?);

-- forget_logouts
-- postgres
delete from logouts where ctid = any (array(select ctid from logouts where forget_at <= $1 order by forget_at limit $2)) and forget_at <= $1;
-- sqlite
delete from logouts where (kind, name) in (
  select kind, name from logouts where forget_at <= ? order by forget_at limit ?);

-- forget_sessions
-- postgres
delete from sessions where ctid = any (array(select ctid from sessions where expires_at <= $1 order by expires_at limit $2)) and expires_at <= $1;
-- sqlite
delete from sessions where (session_hash) in (
  select session_hash from sessions where expires_at <= ? order by expires_at limit ?);

-- eraseReasons
-- postgres
update operator_acts set reason = null, salt = null
  where seq = any (array(select seq from operator_acts where at <= $1 and reason is not null order by at limit $2));
-- sqlite
update operator_acts set reason = null, salt = null
  where seq in (select seq from operator_acts where at <= ? and reason is not null order by at limit ?);
