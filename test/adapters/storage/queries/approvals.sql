-- approvalsOfTask
-- postgres
select found.*, (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals where task_id = $1
  order by requested_at desc, approval_id desc limit $2
  ) found
  order by requested_at desc, approval_id desc;
-- sqlite
select found.*, (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals where task_id = ?
  order by requested_at desc, approval_id desc limit ?
  ) found
  order by requested_at desc, approval_id desc;

-- claimNotices
-- postgres
update approval_notices set due_at = $1
  where sponsor_key = $2 and not is_sent and (due_at <= $3 or due_at > $4)
  and not exists (
  select 1 from approval_notices o
  where o.sponsor_key = $2 and o.due_at > $3 and o.due_at <= $4
  );
-- sqlite
update approval_notices set due_at = ?
  where sponsor_key = ? and not is_sent and (due_at <= ? or due_at > ?)
  and not exists (
  select 1 from approval_notices o
  where o.sponsor_key = ? and o.due_at > ? and o.due_at <= ?
  );

-- countWaitingApprovals
-- postgres
select count(*) as waiting from (
  select 1 from approvals
  where state in ('pending', 'granted') and closed_at is null and state = 'pending' and expires_at > $1 limit $2
  ) counted;
-- sqlite
select count(*) as waiting from (
  select 1 from approvals
  where state in ('pending', 'granted') and closed_at is null and state = 'pending' and expires_at > ? limit ?
  ) counted;

-- dueNotices
-- postgres
select n.*, (select state from approvals v where v.approval_id = n.approval_id) as state
  from (
  select approval_id, sponsor_key, due_at, failures, is_sent from approval_notices d
  where (due_at <= $1 or due_at > $2) and not exists (
  select 1 from approval_notices o
  where o.sponsor_key = d.sponsor_key and o.due_at > $1 and o.due_at <= $2
  )
  order by due_at limit $3
  ) n;
-- sqlite
select n.*, (select state from approvals v where v.approval_id = n.approval_id) as state
  from (
  select approval_id, sponsor_key, due_at, failures, is_sent from approval_notices d
  where (due_at <= ? or due_at > ?) and not exists (
  select 1 from approval_notices o
  where o.sponsor_key = d.sponsor_key and o.due_at > ? and o.due_at <= ?
  )
  order by due_at limit ?
  ) n;

-- findApproval
-- postgres
select found.*,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals where approval_id = $1
  ) found;
-- sqlite
select found.*,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals where approval_id = ?
  ) found;

-- listApprovals: all approvals
-- postgres
select found.*,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select v.approval_id, v.task_id, v.sponsor_key, v.round, v.digest, v.commitment, v.salt, v.title, v.lines, v.state, v.requested_at, v.expires_at, v.decided_at, v.closed_at, v.words_changed, v.says, v.says_salt, chosen.matches, chosen.is_last_read
  from (select approval_id, 1 as matches, 0 as is_last_read from approvals where approval_id < $1 order by approval_id desc limit $2) chosen cross join approvals v where v.approval_id = chosen.approval_id
  ) found
  order by approval_id desc;
-- sqlite
select found.*,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select v.approval_id, v.task_id, v.sponsor_key, v.round, v.digest, v.commitment, v.salt, v.title, v.lines, v.state, v.requested_at, v.expires_at, v.decided_at, v.closed_at, v.words_changed, v.says, v.says_salt, chosen.matches, chosen.is_last_read
  from (select approval_id, 1 as matches, 0 as is_last_read from approvals where approval_id < ? order by approval_id desc limit ?) chosen cross join approvals v where v.approval_id = chosen.approval_id
  ) found
  order by approval_id desc;

-- listApprovals: of a person and an agent, in a state
-- postgres
select found.*,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select v.approval_id, v.task_id, v.sponsor_key, v.round, v.digest, v.commitment, v.salt, v.title, v.lines, v.state, v.requested_at, v.expires_at, v.decided_at, v.closed_at, v.words_changed, v.says, v.says_salt, chosen.matches, chosen.is_last_read
  from (select approval_id, case when sponsor_key = $1 and (select agent_id from tasks t where t.task_id = counted.task_id) = $2 and case when state in ('pending', 'granted') and expires_at <= $3 then 'expired' else state end = $4 then 1 else 0 end as matches,
  case when nth = $5 then 1 else 0 end as is_last_read
  from (
  select approval_id, task_id, sponsor_key, state, expires_at,
  row_number() over (order by approval_id desc) as nth
  from approvals where approval_id < $6 order by approval_id desc limit $5
  ) counted
  where (sponsor_key = $1 and (select agent_id from tasks t where t.task_id = counted.task_id) = $2 and case when state in ('pending', 'granted') and expires_at <= $3 then 'expired' else state end = $4) or nth = $5
  order by approval_id desc limit $7) chosen cross join approvals v where v.approval_id = chosen.approval_id
  ) found
  order by approval_id desc;
-- sqlite
select found.*,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select v.approval_id, v.task_id, v.sponsor_key, v.round, v.digest, v.commitment, v.salt, v.title, v.lines, v.state, v.requested_at, v.expires_at, v.decided_at, v.closed_at, v.words_changed, v.says, v.says_salt, chosen.matches, chosen.is_last_read
  from (select approval_id, case when sponsor_key = ? and (select agent_id from tasks t where t.task_id = counted.task_id) = ? and case when state in ('pending', 'granted') and expires_at <= ? then 'expired' else state end = ? then 1 else 0 end as matches,
  case when nth = ? then 1 else 0 end as is_last_read
  from (
  select approval_id, task_id, sponsor_key, state, expires_at,
  row_number() over (order by approval_id desc) as nth
  from approvals where approval_id < ? order by approval_id desc limit ?
  ) counted
  where (sponsor_key = ? and (select agent_id from tasks t where t.task_id = counted.task_id) = ? and case when state in ('pending', 'granted') and expires_at <= ? then 'expired' else state end = ?) or nth = ?
  order by approval_id desc limit ?) chosen cross join approvals v where v.approval_id = chosen.approval_id
  ) found
  order by approval_id desc;

-- markSent
-- postgres
update approval_notices set is_sent = true, failures = 0, due_at = $1 where approval_id = $2;
-- sqlite
update approval_notices set is_sent = true, failures = 0, due_at = ? where approval_id = ?;

-- postponeNotices
-- postgres
update approval_notices set failures = failures + 1, due_at = $1
  where sponsor_key = $2 and due_at = $3 and not is_sent;
-- sqlite
update approval_notices set failures = failures + 1, due_at = ?
  where sponsor_key = ? and due_at = ? and not is_sent;

-- removeNotice
-- postgres
delete from approval_notices where approval_id = $1;
-- sqlite
delete from approval_notices where approval_id = ?;

-- removeTold
-- postgres
delete from approval_notices
  where sponsor_key = $1 and due_at = $2 and approval_id <> $3 and not is_sent;
-- sqlite
delete from approval_notices
  where sponsor_key = ? and due_at = ? and approval_id <> ? and not is_sent;

-- settledApprovals
-- postgres
select found.*,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select * from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt, expires_at as settled_at from approvals
  where sponsor_key = $1 and state = 'pending' and expires_at <= $2
  order by expires_at desc limit $3
  ) missed
  union all
  select * from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt, coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) as settled_at from approvals
  where sponsor_key = $1 and coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) is not null
  order by coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) desc, approval_id desc limit $3
  ) settled
  order by settled_at desc, approval_id desc limit $3
  ) found
  order by settled_at desc, approval_id desc;
-- sqlite
select found.*,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select * from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt, expires_at as settled_at from approvals
  where sponsor_key = ? and state = 'pending' and expires_at <= ?
  order by expires_at desc limit ?
  ) missed
  union all
  select * from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt, coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) as settled_at from approvals
  where sponsor_key = ? and coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) is not null
  order by coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) desc, approval_id desc limit ?
  ) settled
  order by settled_at desc, approval_id desc limit ?
  ) found
  order by settled_at desc, approval_id desc;

-- waitingApprovals
-- postgres
select found.*,
  (select json_agg(r)::text from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and l.ts > found.requested_at + interval '-86400 seconds') r) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals
  where sponsor_key = $1 and state = 'pending' and expires_at > $2 limit 1000
  ) found
  order by requested_at, approval_id;
-- sqlite
select found.*,
  (select json_group_array(json_object('seq', seq, 'event', event, 'task_id', task_id, 'agent_id', agent_id, 'sponsor', sponsor, 'audience', audience, 'reason', reason, 'detail', detail)) from (select seq, event, task_id, agent_id, sponsor, audience, reason, detail from ledger l
  where substr(l.detail, 10, 35) = +found.approval_id and l.event in ('approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn') and +l.ts > found.requested_at + -86400000000) found) as records,
  (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
  (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
  (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
  (select audience from tasks t where t.task_id = found.task_id) as audience,
  (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
  from (
  select approval_id, task_id, sponsor_key, round, digest, commitment, salt, title, lines, state, requested_at, expires_at, decided_at, closed_at, words_changed, says, says_salt from approvals
  where sponsor_key = ? and state = 'pending' and expires_at > ? limit 1000
  ) found
  order by requested_at, approval_id;
