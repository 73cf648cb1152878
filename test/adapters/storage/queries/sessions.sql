-- findSession
-- postgres
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = $1 and session_hash = $2;
-- sqlite
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = ? and session_hash = ?;

-- lockedSessions: one session
-- postgres
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = $1 and session_hash = $2
  order by session_hash for update;
-- sqlite
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = ? and session_hash = ?
  order by session_hash;

-- lockedSessions: of a person
-- postgres
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = $1 and sub = $2
  order by session_hash for update;
-- sqlite
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = ? and sub = ?
  order by session_hash;

-- lockedSessions: of a session and a person
-- postgres
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = $1 and (sid = $2 or (sid is null and sub = $3))
  order by session_hash for update;
-- sqlite
select session_hash, kind, iss, sub, sponsor_key, roles, sid, authenticated_at, created_at, last_used_at, expires_at, sealed_id_token from sessions where kind = ? and (sid = ? or (sid is null and sub = ?))
  order by session_hash;
