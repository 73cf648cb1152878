-- spend_assertion
-- postgres
insert into spent_assertions (agent_id, jti, forget_at)
  select agent_id, jti, forget_at from json_populate_recordset(null::spent_assertions, $1::json);
-- sqlite
insert into spent_assertions (agent_id, jti, forget_at) values (?, ?, ?);

-- accept_signal
-- postgres
insert into accepted_signals (receiver, issuer, jti, forget_at)
  select receiver, issuer, jti, forget_at from json_populate_recordset(null::accepted_signals, $1::json);
-- sqlite
insert into accepted_signals (receiver, issuer, jti, forget_at) values (?, ?, ?, ?);

-- insert_approval
-- postgres
insert into approvals (approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt)
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, (lines #>> '{}')::json, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from json_populate_recordset(null::approvals, $1::json);
-- sqlite
insert into approvals (approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- answer_approval
-- postgres
update approvals set state = $1, decided_at = $2, expires_at = $3, says = $4, says_salt = $5 where approval_id = $6;
-- sqlite
update approvals set state = ?, decided_at = ?, expires_at = ?, says = ?, says_salt = ? where approval_id = ?;

-- close_approval
-- postgres
update approvals set state = $1, closed_at = $2, words_changed = $3 where approval_id = $4;
-- sqlite
update approvals set state = ?, closed_at = ?, words_changed = ? where approval_id = ?;

-- insert_approval_notice
-- postgres
insert into approval_notices (approval_id, sponsor_key, due_at, failures, is_sent)
  select approval_id, sponsor_key, due_at, failures, is_sent from json_populate_recordset(null::approval_notices, $1::json);
-- sqlite
insert into approval_notices (approval_id, sponsor_key, due_at, failures, is_sent) values (?, ?, ?, ?, ?);

-- put_asked_questions
-- postgres
insert into asked_questions (sponsor_key, agent_id, asked, is_refused, forget_at)
  select sponsor_key, agent_id, asked, is_refused, forget_at from json_populate_recordset(null::asked_questions, $1::json)
  on conflict (sponsor_key, agent_id) do update set asked = excluded.asked, is_refused = excluded.is_refused, forget_at = excluded.forget_at;
-- sqlite
insert into asked_questions (sponsor_key, agent_id, asked, is_refused, forget_at) values (?, ?, ?, ?, ?)
  on conflict (sponsor_key, agent_id) do update set asked = excluded.asked, is_refused = excluded.is_refused, forget_at = excluded.forget_at;

-- insert_purpose
-- postgres
insert into task_purposes (task_id, purpose, salt)
  select task_id, purpose, salt from json_populate_recordset(null::task_purposes, $1::json);
-- sqlite
insert into task_purposes (task_id, purpose, salt) values (?, ?, ?);

-- rotate_grant
-- postgres
update task_grants set rotation_hash = $1, previous_hash = $2 where grant_hash = $3;
-- sqlite
update task_grants set rotation_hash = ?, previous_hash = ? where grant_hash = ?;

-- insert_authorization
-- postgres
insert into authorizations (request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at)
  select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at from json_populate_recordset(null::authorizations, $1::json);
-- sqlite
insert into authorizations (request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- answer_authorization
-- postgres
update authorizations set state = $1, client = $2, answered_at = $3, code_hash = $4, code_expires_at = $5, chosen_scope = $6, task_ends_at = $7, task_id = $8, purpose = $9, forget_at = $10 where request_id = $11;
-- sqlite
update authorizations set state = ?, client = ?, answered_at = ?, code_hash = ?, code_expires_at = ?, chosen_scope = ?, task_ends_at = ?, task_id = ?, purpose = ?, forget_at = ? where request_id = ?;

-- spend_authorization
-- postgres
update authorizations set state = $1, client_state = $2, purpose = $3, forget_at = $4 where request_id = $5;
-- sqlite
update authorizations set state = ?, client_state = ?, purpose = ?, forget_at = ? where request_id = ?;

-- count_authorization_end
-- postgres
insert into authorization_ends (kind, name, ends, reason, forget_at)
  select kind, name, ends, reason, forget_at from json_populate_recordset(null::authorization_ends, $1::json)
  on conflict (kind, name) do update set ends = authorization_ends.ends + 1, reason = excluded.reason,
  forget_at = excluded.forget_at;
-- sqlite
insert into authorization_ends (kind, name, ends, reason, forget_at) values (?, ?, ?, ?, ?)
  on conflict (kind, name) do update set ends = authorization_ends.ends + 1, reason = excluded.reason,
  forget_at = excluded.forget_at;

-- put_block
-- postgres
insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
  select sponsor_key, source, kind, blocked_at, stated_at from json_populate_recordset(null::sponsor_blocks, $1::json)
  on conflict (sponsor_key, source) do update set kind = excluded.kind, blocked_at = excluded.blocked_at, stated_at = excluded.stated_at;
-- sqlite
insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at) values (?, ?, ?, ?, ?)
  on conflict (sponsor_key, source) do update set kind = excluded.kind, blocked_at = excluded.blocked_at, stated_at = excluded.stated_at;

-- remove_block
-- postgres
delete from sponsor_blocks where sponsor_key = $1 and source = $2;
-- sqlite
delete from sponsor_blocks where sponsor_key = ? and source = ?;

-- put_pending_unblock
-- postgres
insert into pending_unblocks (sponsor_key, iss, sub, operator_key, forget_at)
  select sponsor_key, iss, sub, operator_key, forget_at from json_populate_recordset(null::pending_unblocks, $1::json)
  on conflict (sponsor_key) do update set iss = excluded.iss, sub = excluded.sub, operator_key = excluded.operator_key, forget_at = excluded.forget_at;
-- sqlite
insert into pending_unblocks (sponsor_key, iss, sub, operator_key, forget_at) values (?, ?, ?, ?, ?)
  on conflict (sponsor_key) do update set iss = excluded.iss, sub = excluded.sub, operator_key = excluded.operator_key, forget_at = excluded.forget_at;

-- remove_pending_unblock
-- postgres
delete from pending_unblocks where sponsor_key = $1;
-- sqlite
delete from pending_unblocks where sponsor_key = ?;

-- put_delegation_refusal
-- postgres
insert into delegation_refusals (sponsor_key, agent_id, refused_at)
  select sponsor_key, agent_id, refused_at from json_populate_recordset(null::delegation_refusals, $1::json)
  on conflict (sponsor_key, agent_id) do update set refused_at = excluded.refused_at;
-- sqlite
insert into delegation_refusals (sponsor_key, agent_id, refused_at) values (?, ?, ?)
  on conflict (sponsor_key, agent_id) do update set refused_at = excluded.refused_at;

-- remove_delegation_refusal
-- postgres
delete from delegation_refusals where sponsor_key = $1 and agent_id = $2;
-- sqlite
delete from delegation_refusals where sponsor_key = ? and agent_id = ?;

-- put_logout
-- postgres
insert into logouts (kind, name, stated_at, forget_at)
  select kind, name, stated_at, forget_at from json_populate_recordset(null::logouts, $1::json)
  on conflict (kind, name) do update set stated_at = excluded.stated_at, forget_at = excluded.forget_at;
-- sqlite
insert into logouts (kind, name, stated_at, forget_at) values (?, ?, ?, ?)
  on conflict (kind, name) do update set stated_at = excluded.stated_at, forget_at = excluded.forget_at;

-- insert_session
-- postgres
insert into sessions (session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token)
  select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from json_populate_recordset(null::sessions, $1::json);
-- sqlite
insert into sessions (session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- renew_session
-- postgres
update sessions set last_used_at = $1, expires_at = $2 where session_hash = $3;
-- sqlite
update sessions set last_used_at = ?, expires_at = ? where session_hash = ?;

-- close_session
-- postgres
delete from sessions where session_hash = $1;
-- sqlite
delete from sessions where session_hash = ?;

-- insert_agent
-- postgres
insert into agents (agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since)
  select agent_id, display_name, allowed_scopes, (allowed_audiences #>> '{}')::json, (high_risk_audiences #>> '{}')::json, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, (jwks #>> '{}')::json, (may_act_names #>> '{}')::json, (redirect_uris #>> '{}')::json, public_client, client_id_document, (client_names #>> '{}')::json, (delegates_to #>> '{}')::json, enabled, revision, created_at, updated_at, keys_since from json_populate_recordset(null::agents, $1::json);
-- sqlite
insert into agents (agent_id, display_name, allowed_scopes, allowed_audiences, high_risk_audiences, max_task_ttl, max_token_ttl, max_delegation_depth, jwks_uri, jwks, may_act_names, redirect_uris, public_client, client_id_document, client_names, delegates_to, enabled, revision, created_at, updated_at, keys_since) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- replace_agent
-- postgres
update agents set display_name = $1, allowed_scopes = $2, allowed_audiences = $3, high_risk_audiences = $4, max_task_ttl = $5, max_token_ttl = $6, max_delegation_depth = $7, jwks_uri = $8, jwks = $9, may_act_names = $10, redirect_uris = $11, public_client = $12, client_id_document = $13, client_names = $14, delegates_to = $15, enabled = $16, revision = $17, created_at = $18, updated_at = $19, keys_since = $20 where agent_id = $21;
-- sqlite
update agents set display_name = ?, allowed_scopes = ?, allowed_audiences = ?, high_risk_audiences = ?, max_task_ttl = ?, max_token_ttl = ?, max_delegation_depth = ?, jwks_uri = ?, jwks = ?, may_act_names = ?, redirect_uris = ?, public_client = ?, client_id_document = ?, client_names = ?, delegates_to = ?, enabled = ?, revision = ?, created_at = ?, updated_at = ?, keys_since = ? where agent_id = ?;

-- remove_agent
-- postgres
delete from agents where agent_id = $1;
-- sqlite
delete from agents where agent_id = ?;

-- forget_delegation_refusals
-- postgres
delete from delegation_refusals where agent_id = $1;
-- sqlite
delete from delegation_refusals where agent_id = ?;

-- insert_user
-- postgres
insert into provisioned_users (user_id, user_name, user_name_key, external_id, active, sponsor_key, revision, created_at, modified_at)
  select user_id, user_name, user_name_key, external_id, active, sponsor_key, revision, created_at, modified_at from json_populate_recordset(null::provisioned_users, $1::json);
-- sqlite
insert into provisioned_users (user_id, user_name, user_name_key, external_id, active, sponsor_key, revision, created_at, modified_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- replace_user
-- postgres
update provisioned_users set user_name = $1, user_name_key = $2, external_id = $3, active = $4, sponsor_key = $5, revision = $6, created_at = $7, modified_at = $8 where user_id = $9;
-- sqlite
update provisioned_users set user_name = ?, user_name_key = ?, external_id = ?, active = ?, sponsor_key = ?, revision = ?, created_at = ?, modified_at = ? where user_id = ?;

-- remove_user
-- postgres
delete from provisioned_users where user_id = $1;
-- sqlite
delete from provisioned_users where user_id = ?;

-- insert_status_list
-- postgres
insert into status_lists (list_id, audience, entries, created_at, closed_at)
  select list_id, audience, entries, created_at, closed_at from json_populate_recordset(null::status_lists, $1::json);
-- sqlite
insert into status_lists (list_id, audience, entries, created_at, closed_at) values (?, ?, ?, ?, ?);

-- close_status_list
-- postgres
update status_lists set closed_at = $1 where list_id = $2;
-- sqlite
update status_lists set closed_at = ? where list_id = ?;

-- put_log_key
-- postgres
insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to)
  select use, kid, thumbprint, public_key, active_from, active_to from json_populate_recordset(null::log_keys, $1::json)
  on conflict (use, kid, thumbprint) do update set active_from = excluded.active_from, active_to = excluded.active_to;
-- sqlite
insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to) values (?, ?, ?, ?, ?, ?)
  on conflict (use, kid, thumbprint) do update set active_from = excluded.active_from, active_to = excluded.active_to;
