-- newestAnswers
-- postgres
select found.*, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.answered_at + interval '-600 seconds'
  and l.ts < found.code_expires_at + interval '600 seconds'
  and l.event || '' in ('authorization.allowed', 'task.authorized')) r) as records from (
  select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at from authorizations order by request_id desc limit $1
  ) found where found.code_hash is not null;
-- sqlite
select found.*, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = found.task_id and l.ts > found.answered_at + -600000000
  and l.ts < found.code_expires_at + 600000000
  and l.event || '' in ('authorization.allowed', 'task.authorized')) found) as records from (
  select request_id, browser_hash, agent_id, client, redirect_uri, client_state, challenge, audience, offered_scope, asked_scope, held_scope, purpose, sponsor_key, sponsor, session_id, issued_at, authenticated_at, began_at, came_at, expires_at, state, answered_at, void_reason, code_hash, code_expires_at, chosen_scope, task_ends_at, task_id, forget_at from authorizations order by request_id desc limit ?
  ) found where found.code_hash is not null;

-- newestApprovals
-- postgres
select found.*, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor
  from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals order by approval_id desc limit $1
  ) found;
-- sqlite
select found.*, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor
  from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals order by approval_id desc limit ?
  ) found;

-- newestPurposes
-- postgres
select t.task_id, t.agent_id, t.sponsor, t.created_at, p.purpose, p.salt, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = t.task_id and l.ts > t.created_at + interval '-600 seconds'
  and l.ts < t.created_at + interval '600 seconds' and l.event || '' in ('purpose.stated', 'token.issued')) r) as records
  from (select task_id, purpose, salt from task_purposes order by task_id desc limit $1) p
  join tasks t on t.task_id = p.task_id;
-- sqlite
select t.task_id, t.agent_id, t.sponsor, t.created_at, p.purpose, p.salt, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail, 'scope', scope)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail, scope from ledger l
  where l.task_id = t.task_id and l.ts > t.created_at + -600000000
  and l.ts < t.created_at + 600000000 and l.event || '' in ('purpose.stated', 'token.issued')) found) as records
  from (select task_id, purpose, salt from task_purposes order by task_id desc limit ?) p
  join tasks t on t.task_id = p.task_id;

-- newestReasons
-- postgres
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts order by seq desc limit $1
  ) found;
-- sqlite
select found.*, (select detail from ledger l where l.seq = found.seq and l.event || '' = 'operator.acted' limit 1) as record from (
  select seq, explains, iss, sub, role, act, reason, salt, at from operator_acts order by seq desc limit ?
  ) found;
