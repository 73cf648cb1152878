-- findSession
-- postgres
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = $1 and session_hash = $2;
-- sqlite
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = ? and session_hash = ?;
