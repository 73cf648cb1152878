-- countEnds
-- postgres
select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'everything' and e.name = ''
  union all
  select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'agent' and e.name = $1;
-- sqlite
select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'everything' and e.name = ''
  union all
  select e.kind, e.ends, e.reason from authorization_ends e where e.kind = 'agent' and e.name = ?;

-- findAuthorization
-- postgres
select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at from authorizations where request_id = $1;
-- sqlite
select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at from authorizations where request_id = ?;

-- findByCode
-- postgres
select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = authorizations.task_id and l.ts > authorizations.answered_at + interval '-600 seconds'
  and l.ts < authorizations.code_expires_at + interval '600 seconds'
  and l.event || '' in ('authorization.allowed', 'task.authorized')) r) as records
  from authorizations where code_hash = $1;
-- sqlite
select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = authorizations.task_id and l.ts > authorizations.answered_at + -600000000
  and l.ts < authorizations.code_expires_at + 600000000
  and l.event || '' in ('authorization.allowed', 'task.authorized')) found) as records
  from authorizations where code_hash = ?;

-- voidAuthorizations: of all
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') order by request_id );

-- voidAuthorizations: some requests
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and request_id = any (array(select json_array_elements_text($2::json))) order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and request_id in (select value from json_each(?)) order by request_id );

-- voidAuthorizations: of an agent
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and agent_id = $2 order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and agent_id = ? order by request_id );

-- voidAuthorizations: of a person
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and sponsor_key = $2 order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and sponsor_key = ? order by request_id );

-- voidAuthorizations: of a person and an agent
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and sponsor_key = $2 and agent_id = $3 order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and sponsor_key = ? and agent_id = ? order by request_id );

-- voidAuthorizations: of a session
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and session_id = $2 order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and session_id = ? order by request_id );

-- voidAuthorizations: of a session, or of none and a person
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and request_id in (
  select request_id from authorizations where state in ('open', 'allowed') and session_id = $2
  union all select request_id from authorizations where state in ('open', 'allowed') and sponsor = $3 and session_id is null) order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and request_id in (
  select request_id from authorizations where state in ('open', 'allowed') and session_id = ?
  union all select request_id from authorizations where state in ('open', 'allowed') and sponsor = ? and session_id is null) order by request_id );

-- voidAuthorizations: of a sub
-- postgres
update authorizations set state = 'void', void_reason = $1 where request_id = any (array(select request_id from authorizations where state in ('open', 'allowed') and sponsor = $2 order by request_id for update));
-- sqlite
update authorizations set state = 'void', void_reason = ? where request_id in (select request_id from authorizations where state in ('open', 'allowed') and sponsor = ? order by request_id );
