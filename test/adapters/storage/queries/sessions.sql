-- findOperatorSession
-- postgres
select session_hash, iss, sub, sponsor_key, roles, sid, created_at, last_used_at, expires_at, sealed_id_token from operator_sessions where session_hash = $1;
-- sqlite
select session_hash, iss, sub, sponsor_key, roles, sid, created_at, last_used_at, expires_at, sealed_id_token from operator_sessions where session_hash = ?;

-- findSession
-- postgres
select session_hash, sponsor_key, sponsor, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from me_sessions where session_hash = $1;
-- sqlite
select session_hash, sponsor_key, sponsor, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from me_sessions where session_hash = ?;
