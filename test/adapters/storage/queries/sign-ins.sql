-- signInsSeen
-- postgres
select (select max(created_at) from sessions where kind = $1 and iss = $2) as began,
  (select ts from ledger where event = $3 and ts >= $4 and substr(detail, 1, length($5)) = $5
  order by ts desc, seq desc limit 1) as recorded,
  (select ts from ledger where event = $6 and reason = $7 and ts >= $4
  order by ts desc, seq desc limit 1) as demanded,
  (select ts from ledger where event = $8 and substr(reason, 1, length($9)) = $9
  and ts >= $4 order by ts desc, seq desc limit 1) as token_refused,
  (select reason from ledger where event = $8 and substr(reason, 1, length($9)) = $9
  and ts >= $4 order by ts desc, seq desc limit 1) as token_reason;
-- sqlite
select (select max(created_at) from sessions where kind = ? and iss = ?) as began,
  (select ts from ledger where event = ? and ts >= ? and substr(detail, 1, length(?)) = ?
  order by ts desc, seq desc limit 1) as recorded,
  (select ts from ledger where event = ? and reason = ? and ts >= ?
  order by ts desc, seq desc limit 1) as demanded,
  (select ts from ledger where event = ? and substr(reason, 1, length(?)) = ?
  and ts >= ? order by ts desc, seq desc limit 1) as token_refused,
  (select reason from ledger where event = ? and substr(reason, 1, length(?)) = ?
  and ts >= ? order by ts desc, seq desc limit 1) as token_reason;
