-- agent
-- postgres
select agent_id, display_name, allowed_scopes, allowed_audiences::text, high_risk_audiences::text, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks::text, may_act_names::text, redirect_uris::text, public_client, client_id_document, client_names::text, delegates_to::text, enabled, revision, created_at::text, updated_at::text, keys_since::text from agents a where a.agent_id = q.agent_id;
-- sqlite
select agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since from agents where agent_id = ?;

-- agent_revision
-- postgres
select revision from agents a where a.agent_id = q.agent_id;
-- sqlite
select revision from agents where agent_id = ?;

-- agent_enabled
-- postgres
select 1 as found from agents a where a.agent_id = q.agent_id and a.enabled;
-- sqlite
select 1 as found from agents a where a.agent_id = ? and a.enabled;

-- agent_name_taken
-- postgres
select 1 as found from agents a
  where a.agent_id <> q.agent_id and (
  exists (select 1 from (select * from json_to_recordset(q.names::json) as q (sub text, client_id text)) n where n.sub = a.agent_id)
  or exists (select 1 from (select * from json_to_recordset(a.may_act_names::json) as q (sub text, client_id text)) o
  where o.sub = q.agent_id or exists (select 1 from (select * from json_to_recordset(q.names::json) as q (sub text, client_id text)) n
  where n.sub is not distinct from o.sub and n.client_id is not distinct from o.client_id))
  ) limit 1;
-- sqlite
select 1 as found from agents a
  where a.agent_id <> ? and (
  exists (select 1 from (select value ->> 'sub' as sub, value ->> 'client_id' as client_id from json_each(?)) n where n.sub = a.agent_id)
  or exists (select 1 from (select value ->> 'sub' as sub, value ->> 'client_id' as client_id from json_each(a.may_act_names)) o
  where o.sub = ? or exists (select 1 from (select value ->> 'sub' as sub, value ->> 'client_id' as client_id from json_each(?)) n
  where n.sub is not distinct from o.sub and n.client_id is not distinct from o.client_id))
  ) limit 1;

-- agent_document_taken
-- postgres
select 1 as found from agents a where a.client_id_document = q.uri and a.agent_id <> q.agent_id;
-- sqlite
select 1 as found from agents a where a.client_id_document = ? and a.agent_id <> ?;

-- agent_has_tasks
-- postgres
select 1 as found from tasks t where t.agent_id = q.agent_id limit 1;
-- sqlite
select 1 as found from tasks t where t.agent_id = ? limit 1;

-- registered_agents
-- postgres
select a.agent_id from agents a where a.agent_id = any (array(select json_array_elements_text(q.agent_ids::json)));
-- sqlite
select a.agent_id from agents a where a.agent_id in (select value from json_each(?));

-- agent_named_by_others
-- postgres
select 1 as found from agents a
  where a.delegates_to is not null and a.agent_id <> q.agent_id
  and q.agent_id = any (array(select json_array_elements_text(a.delegates_to::json))) limit 1;
-- sqlite
select 1 as found from agents a
  where a.delegates_to is not null and a.agent_id <> ?
  and ? in (select value from json_each(a.delegates_to)) limit 1;

-- blocks
-- postgres
select sponsor_key, source, kind, blocked_at::text, stated_at::text from sponsor_blocks b where b.sponsor_key = q.sponsor_key;
-- sqlite
select sponsor_key, source, kind, blocked_at, stated_at from sponsor_blocks where sponsor_key = ?;

-- person_known
-- postgres
select 1 as found
  where exists (select 1 from sponsor_blocks b where b.sponsor_key = q.sponsor_key)
  or exists (select 1 from provisioned_users u where u.sponsor_key = q.sponsor_key)
  or exists (select 1 from tasks t where t.sponsor_key = q.sponsor_key)
  or exists (select 1 from authorizations z where z.sponsor_key = q.sponsor_key and z.state in ('open', 'allowed'))
  or exists (select 1 from delegation_refusals d where d.sponsor_key = q.sponsor_key);
-- sqlite
select 1 as found
  where exists (select 1 from sponsor_blocks b where b.sponsor_key = ?)
  or exists (select 1 from provisioned_users u where u.sponsor_key = ?)
  or exists (select 1 from tasks t where t.sponsor_key = ?)
  or exists (select 1 from authorizations z where z.sponsor_key = ? and z.state in ('open', 'allowed'))
  or exists (select 1 from delegation_refusals d where d.sponsor_key = ?);

-- delegation_refused
-- postgres
select 1 as found from delegation_refusals d where d.sponsor_key = q.sponsor_key and d.agent_id = q.agent_id;
-- sqlite
select 1 from delegation_refusals where sponsor_key = ? and agent_id = ?;

-- assertion_spent
-- postgres
select 1 as found from spent_assertions s where s.agent_id = q.agent_id and s.jti = q.jti
  union all select 1 from spent_assertions r
  where r.agent_id = '' and r.jti = '' and r.forget_at >= q.latest_forget_at;
-- sqlite
select 1 as found from spent_assertions s where s.agent_id = ? and s.jti = ?
  union all select 1 from spent_assertions r
  where r.agent_id = '' and r.jti = '' and r.forget_at >= ?;

-- logout
-- postgres
select stated_at::text, forget_at::text from logouts l where l.kind = q.kind and l.name = q.name;
-- sqlite
select stated_at, forget_at from logouts where kind = ? and name = ?;

-- live_task_without_session
-- postgres
select 1 as found from tasks t
  where t.sponsor = q.subject and t.session_id is null and t.state = 'live' and t.expires_at > q.at limit 1;
-- sqlite
select 1 as found from tasks t
  where t.sponsor = ? and t.session_id is null and t.state = 'live' and t.expires_at > ? limit 1;

-- task_state
-- postgres
select state, expires_at::text from tasks t where t.task_id = q.task_id;
-- sqlite
select state, expires_at from tasks where task_id = ?;

-- task_sponsor
-- postgres
select sponsor_key from tasks t where t.task_id = q.task_id;
-- sqlite
select sponsor_key from tasks where task_id = ?;

-- task_terms
-- postgres
select task_id, agent_id, sponsor, delegated_by, audience, scope, expires_at::text, status_list, status_index from tasks t where t.task_id = q.task_id;
-- sqlite
select task_id, agent_id, sponsor, delegated_by, audience, scope, expires_at, status_list, status_index from tasks where task_id = ?;

-- delegating_task
-- postgres
select state, expires_at::text, (select g.scope from task_grants g where g.task_id = t.task_id) as grant_scope from tasks t where t.task_id = q.task_id;
-- sqlite
select state, expires_at, (select g.scope from task_grants g where g.task_id = tasks.task_id) as grant_scope from tasks where task_id = ?;

-- live_children
-- postgres
select count(*) as children from tasks t
  where t.parent_task_id = q.task_id and t.state = 'live' and t.expires_at > q.at;
-- sqlite
select count(*) as children from tasks t
  where t.parent_task_id = ? and t.state = 'live' and t.expires_at > ?;

-- grant
-- postgres
select task_id, scope, renewals, unrecorded, revoked_at::text, rotation_hash, previous_hash from task_grants g where g.grant_hash = q.grant_hash;
-- sqlite
select task_id, scope, renewals, unrecorded, revoked_at, rotation_hash, previous_hash from task_grants where grant_hash = ?;

-- grant_owner
-- postgres
select t.agent_id, t.task_id, t.sponsor_key from task_grants g join tasks t using (task_id)
  where g.grant_hash = q.grant_hash;
-- sqlite
select t.agent_id, t.task_id, t.sponsor_key from task_grants g join tasks t using (task_id)
  where g.grant_hash = ?;

-- token_revoked
-- postgres
select 1 as found from revoked_tokens r where r.jti = q.jti;
-- sqlite
select 1 from revoked_tokens where jti = ?;

-- approval
-- postgres
select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines::text, state, requested_at::text, expires_at::text, decided_at::text, closed_at::text, words_changed, says, says_salt, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = v.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > v.requested_at + interval '-86400 seconds') r) as records from approvals v where v.approval_id = q.approval_id;
-- sqlite
select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +approvals.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > approvals.requested_at + -86400000000) found) as records from approvals where approval_id = ?;

-- last_approval
-- postgres
select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines::text, state, requested_at::text, expires_at::text, decided_at::text, closed_at::text, words_changed, says, says_salt, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = v.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > v.requested_at + interval '-86400 seconds') r) as records from approvals v where v.task_id = q.task_id and v.digest = q.digest order by v.round desc limit 1;
-- sqlite
select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +approvals.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > approvals.requested_at + -86400000000) found) as records from approvals where task_id = ? and digest = ? order by round desc limit 1;

-- pending_approvals
-- postgres
select count(*) filter (where v.task_id = q.task_id) as of_task,
  count(*) filter (
  where (select o.agent_id from tasks o where o.task_id = v.task_id)
  = (select t.agent_id from tasks t where t.task_id = q.task_id)
  ) as of_agent,
  count(*) as of_person
  from approvals v
  where v.sponsor_key = (select t.sponsor_key from tasks t where t.task_id = q.task_id)
  and v.state = 'pending' and v.expires_at > q.at;
-- sqlite
select count(*) filter (where v.task_id = ?) as of_task,
  count(*) filter (
  where (select o.agent_id from tasks o where o.task_id = v.task_id)
  = (select t.agent_id from tasks t where t.task_id = ?)
  ) as of_agent,
  count(*) as of_person
  from approvals v
  where v.sponsor_key = (select t.sponsor_key from tasks t where t.task_id = ?)
  and v.state = 'pending' and v.expires_at > ?;

-- asked_questions
-- postgres
select asked, is_refused, forget_at::text from asked_questions c where c.agent_id = q.agent_id
  and sponsor_key = (select t.sponsor_key from tasks t where t.task_id = q.task_id);
-- sqlite
select asked, is_refused, forget_at from asked_questions where agent_id = ?
  and sponsor_key = (select t.sponsor_key from tasks t where t.task_id = ?);

-- authorization
-- postgres
select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at::text, authenticated_at::text, began_at::text, came_at::text, expires_at::text, state, answered_at::text, void_reason, code_hash, code_expires_at::text, chosen_scope, task_ends_at::text, task_id, forget_at::text from authorizations z where z.request_id = q.request_id;
-- sqlite
select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at from authorizations where request_id = ?;

-- open_authorizations
-- postgres
select z.request_id from authorizations z
  where z.sponsor_key = q.sponsor_key and z.state in ('open', 'allowed') and z.state = 'open' order by z.request_id;
-- sqlite
select z.request_id from authorizations z
  where z.sponsor_key = ? and z.state in ('open', 'allowed') and z.state = 'open' order by z.request_id;

-- authorization_ends
-- postgres
select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'everything' and e.name = ''
  union all
  select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'agent' and e.name = q.agent_id;
-- sqlite
select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'everything' and e.name = ''
  union all
  select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'agent' and e.name = ?;

-- signal_accepted
-- postgres
select 1 as found from accepted_signals s where s.receiver = q.receiver and s.issuer = q.issuer and s.jti = q.jti;
-- sqlite
select 1 from accepted_signals where receiver = ? and issuer = ? and jti = ?;

-- user_revision
-- postgres
select revision from provisioned_users u where u.user_id = q.user_id;
-- sqlite
select revision from provisioned_users where user_id = ?;

-- user_named
-- postgres
select user_id from provisioned_users u where u.user_name_key = q.user_name_key;
-- sqlite
select user_id from provisioned_users where user_name_key = ?;

-- log_keys
-- postgres
select use, kid, thumbprint, public_key, active_from::text, active_to::text from log_keys k where k.use = q.use order by k.active_from, k.kid;
-- sqlite
select use, kid, thumbprint, public_key, active_from, active_to from log_keys where use = ? order by active_from, kid;

-- inactive_users
-- postgres
select user_id from provisioned_users u where u.sponsor_key = q.sponsor_key and not u.active order by u.user_id;
-- sqlite
select user_id from provisioned_users u where u.sponsor_key = ? and not u.active order by u.user_id;

-- other_users
-- postgres
select count(*) as users, count(*) filter (where not active) as inactive from provisioned_users u
  where u.sponsor_key = q.sponsor_key and u.user_id <> q.except_id;
-- sqlite
select count(*) as users, count(*) filter (where not active) as inactive from provisioned_users u
  where u.sponsor_key = ? and u.user_id <> ?;

-- pending_unblock
-- postgres
select iss, sub, operator_key, forget_at::text from pending_unblocks p where p.sponsor_key = q.sponsor_key;
-- sqlite
select iss, sub, operator_key, forget_at from pending_unblocks where sponsor_key = ?;
