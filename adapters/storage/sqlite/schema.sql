-- The schema of a SQLite database. Instants are integers of microseconds.

-- Registered agents (specification "Agent registration"). `sponsor_required` is always true, so it is not stored.
create table agents (
  agent_id text primary key,
  display_name text not null,
  allowed_scopes text not null,
  allowed_audiences text not null,
  high_risk_audiences text not null,
  max_task_ttl integer not null,
  max_token_ttl integer not null,
  max_delegation_depth integer not null,
  jwks_uri text,
  jwks text,
  -- How the identity provider names the agent in may_act: a JSON array; null if only its id names it.
  may_act_names text,
  -- What a client of /oauth2/authorize is: arrays of texts, whether PKCE alone authenticates it, and the URL of its document.
  redirect_uris text,
  public_client integer not null,
  client_id_document text,
  client_names text,
  -- The agents that it may hand work to: a JSON array of ids; null for none.
  delegates_to text,
  enabled integer not null,
  revision integer not null,
  created_at integer not null,
  updated_at integer not null,
  -- The last change of jwks_uri or jwks.
  keys_since integer not null,
  -- A client that PKCE or its document authenticates may have none.
  constraint agents_one_source_of_keys check ((jwks_uri is null) <> (jwks is null)
    or (jwks_uri is null and jwks is null and (public_client or client_id_document is not null)))
) strict;
create unique index agents_by_document on agents (client_id_document) where client_id_document is not null;
create index agents_disabled on agents (agent_id) where not enabled;
create index agents_public on agents (agent_id) where public_client;
create index agents_by_token_ttl on agents (max_token_ttl, agent_id);

-- Blocks, one per person and source (specification "Sponsor block"). A row exists only while its source blocks the person.
create table sponsor_blocks (
  sponsor_key text not null,
  source text not null check (source in ('admin', 'scim', 'self', 'ssf')),
  kind text not null check (kind in ('disabled', 'deleted')),
  blocked_at integer not null,
  -- The time of the source's latest statement: the iat of a security event, else blocked_at.
  stated_at integer not null,
  primary key (sponsor_key, source)
) strict;
-- For lists, newest first.
create index sponsor_blocks_newest on sponsor_blocks (blocked_at, sponsor_key, source);
create index sponsor_blocks_by_source on sponsor_blocks (source, blocked_at, sponsor_key);

-- What operators did (the ledger's event operator.acted). The ledger has only a hash of the salt and the reason.
create table operator_acts (
  -- The number of the act's own record.
  seq integer primary key,
  -- The number of the first record that the act explains; null if it wrote no other record.
  explains integer,
  iss text not null,
  sub text not null,
  role text not null,
  act text not null,
  -- Null with the admin key, and once erased.
  reason text,
  salt text,
  at integer not null
) strict;
create index operator_acts_by_subject on operator_acts (sub, seq);
create index operator_acts_by_record on operator_acts (explains) where explains is not null;
create index operator_acts_with_reason on operator_acts (at) where reason is not null;

-- The first operator's request to lift a block, until a second operator's (Service:Operators:TwoPersonUnblock).
create table pending_unblocks (
  sponsor_key text primary key,
  iss text not null,
  sub text not null,
  -- The operator's sponsor key. A provider may give a person a different `sub` for each client.
  operator_key text not null,
  -- From this time it no longer counts.
  forget_at integer not null
) strict, without rowid;
create index pending_unblocks_by_forgetting on pending_unblocks (forget_at);

-- The agents that may not hand work to other agents for a person, who refused it (Service:Delegation).
create table delegation_refusals (
  sponsor_key text not null,
  agent_id text not null,
  refused_at integer not null,
  primary key (sponsor_key, agent_id)
) strict, without rowid;
create index delegation_refusals_by_agent on delegation_refusals (agent_id);

-- Users provisioned by SCIM (specification "Provisioning user").
create table provisioned_users (
  user_id text primary key,
  user_name text not null,
  -- The user_name in the form in which names are compared.
  user_name_key text not null unique,
  external_id text,
  active integer not null,
  -- The sponsor key that the last write of this user named.
  sponsor_key text not null,
  revision integer not null,
  created_at integer not null,
  modified_at integer not null
) strict, without rowid;
create index provisioned_users_by_external_id on provisioned_users (external_id) where external_id is not null;
create index provisioned_users_by_sponsor on provisioned_users (sponsor_key);

-- Tasks (specification "Task (stored)").
create table tasks (
  task_id text primary key,
  agent_id text not null,
  sponsor_key text not null,
  sponsor text not null,
  session_id text,
  parent_task_id text,
  delegated_by text,
  audience text not null,
  scope text not null,
  -- The scopes of the person's token, and those that the agent requested; null without the console.
  held_scope text,
  asked_scope text,
  delegation_depth integer not null,
  created_at integer not null,
  expires_at integer not null,
  state text not null default 'live',
  ended_at integer,
  end_reason text,
  -- The task's index in a status list, until no token of the task can be valid.
  status_list text,
  status_index integer,
  constraint tasks_state check (
    state = 'live' and ended_at is null and end_reason is null
    or state = 'revoked' and ended_at is not null and end_reason is not null
    or state = 'expired' and ended_at is not null and end_reason is null
  ),
  constraint tasks_status check ((status_list is null) = (status_index is null))
) strict, without rowid;
-- Each index of this table ends with the primary key. The task's id tells its age: a list begins with the newest.
create index tasks_by_agent on tasks (agent_id, state);
create index tasks_by_sponsor on tasks (sponsor_key, state);
-- An expression, because only a list of all tasks may use this index: `state = 'live'` is in many statements.
create index tasks_by_state on tasks (lower(state));
-- A logout names the provider's `sub`, which need not be the sponsor key. With the session, so that a task without one is
-- found beside any number of the person's tasks that have one.
create index tasks_live_by_subject on tasks (sponsor, session_id) where state = 'live';
create index tasks_live_by_session on tasks (session_id) where state = 'live' and session_id is not null;
-- With the state: the live tasks below one are counted beside any number that have ended.
create index tasks_by_parent on tasks (parent_task_id, state) where parent_task_id is not null;
create index tasks_live_by_expiry on tasks (expires_at) where state = 'live';
-- A task with an index in a status list is not deleted.
create index tasks_by_end on tasks (ended_at) where ended_at is not null and status_list is null;
create index tasks_ended_by_sponsor on tasks (sponsor_key, ended_at, task_id) where ended_at is not null;
-- The conditions keep a list of its ended tasks from reading all its tasks.
create unique index tasks_status_index on tasks (status_list, status_index) where status_index is not null;
-- With the state, so that only the index is read.
create index tasks_status_ended on tasks (status_list, status_index, state) where status_list is not null and state <> 'live';
create index tasks_status_by_expiry on tasks (expires_at) where status_list is not null and state <> 'live';

-- Token status lists (draft-ietf-oauth-status-list).
create table status_lists (
  -- 128 random bits in base64url.
  list_id text primary key,
  audience text not null,
  -- The number of indices.
  entries integer not null,
  created_at integer not null,
  -- From this time no task gets an index of the list. Null while tasks do.
  closed_at integer
) strict, without rowid;
create index status_lists_open on status_lists (audience, created_at) where closed_at is null;

-- What agents stated as the purposes of their tasks (Service:Tasks:Purpose). The ledger has only a hash of the salt and the
-- words. A row is deleted with its task.
create table task_purposes (
  task_id text primary key,
  purpose text not null,
  salt text not null
) strict, without rowid;

create table task_grants (
  -- SHA-256 of the grant, in lowercase hex; of a rotating one, without its rotation.
  grant_hash text primary key,
  task_id text not null references tasks,
  scope text not null,
  renewals integer not null default 0,
  -- Renewals that are not recorded yet. The end of the task records their number.
  unrecorded integer not null default 0,
  -- The last renewal; null before the first.
  renewed_at integer,
  revoked_at integer,
  -- SHA-256 of the newest refresh token, and of the one before it, if they rotate.
  rotation_hash text,
  previous_hash text
) strict, without rowid;
create index task_grants_by_task on task_grants (task_id);

-- What clients ask people for at /oauth2/authorize, from the person's return from the identity provider on, and what they
-- answered (domain/authorization). A row from which a task came is deleted with it.
create table authorizations (
  request_id text primary key,
  -- SHA-256 of the secret of the browser that asked.
  browser_hash text not null,
  agent_id text not null,
  client text not null check (client in ('key', 'public', 'document')),
  redirect_uri text not null,
  -- The client's parameter `state`.
  client_state text,
  challenge text not null,
  audience text not null,
  offered_scope text not null,
  asked_scope text not null,
  -- The scopes of the person's token.
  held_scope text not null,
  purpose text,
  sponsor_key text not null,
  sponsor text not null,
  session_id text,
  -- The times of the person's token and of their sign-in.
  issued_at integer,
  authenticated_at integer,
  began_at integer not null,
  came_at integer not null,
  -- Until then the person may answer.
  expires_at integer not null,
  state text not null,
  answered_at integer,
  void_reason text,
  code_hash text unique,
  code_expires_at integer,
  chosen_scope text,
  task_ends_at integer,
  -- The task that the code opens.
  task_id text unique,
  -- From this time the row may be deleted. Null once a task came from it.
  forget_at integer,
  constraint authorizations_state check (
    state = 'open' and answered_at is null and void_reason is null and code_hash is null
    or state = 'refused' and answered_at is not null and void_reason is null and code_hash is null
    or state in ('allowed', 'spent') and answered_at is not null and void_reason is null and code_hash is not null
    or state = 'void' and void_reason is not null
  ),
  constraint authorizations_code check (
    (code_hash is null) = (code_expires_at is null)
    and (code_hash is null) = (chosen_scope is null)
    and (code_hash is null) = (task_ends_at is null)
    and (code_hash is null) = (task_id is null)
  ),
  constraint authorizations_forgetting check (forget_at is not null or state = 'spent')
) strict, without rowid;
-- Of those that an end makes void.
create index authorizations_waiting_for_sponsor on authorizations (sponsor_key, request_id) where state in ('open', 'allowed');
create index authorizations_waiting_for_subject on authorizations (sponsor, session_id) where state in ('open', 'allowed');
create index authorizations_waiting_of_agent on authorizations (agent_id, request_id) where state in ('open', 'allowed');
create index authorizations_waiting_of_session on authorizations (session_id) where state in ('open', 'allowed') and session_id is not null;
create index authorizations_by_forgetting on authorizations (forget_at) where forget_at is not null;

-- How often everything, or an agent, was ended. A request whose person is still at the identity provider keeps the counts of its
-- beginning, and ends when the person comes back if they differ.
create table authorization_ends (
  kind text not null check (kind in ('everything', 'agent')),
  -- The agent's id, or empty.
  name text not null,
  ends integer not null,
  -- Of the last one.
  reason text not null,
  forget_at integer not null,
  primary key (kind, name)
) strict, without rowid;
create index authorization_ends_by_forgetting on authorization_ends (forget_at);

-- Approvals: a person's yes or no to one action of a task (Service:Approvals). The ledger has only a hash of the words. They
-- are deleted with the task.
create table approvals (
  approval_id text primary key,
  task_id text not null references tasks,
  sponsor_key text not null,
  -- Counts the approvals of one digest of the task: the last one decides.
  round integer not null,
  digest text not null,
  -- SHA-256 over the words with their salt, in lowercase hex.
  commitment text not null,
  salt text not null,
  title text not null,
  lines text not null,
  state text not null,
  requested_at integer not null,
  -- When it stops waiting for the person; after a yes, when the agent can no longer use it.
  expires_at integer not null,
  -- When the person answered.
  decided_at integer,
  -- When it was used, expired or was withdrawn.
  closed_at integer,
  -- Withdrawn because the same call came with other words.
  words_changed integer not null,
  -- Why the person said no, and the salt of its hash in the record.
  says text,
  says_salt text,
  constraint approvals_round unique (task_id, digest, round),
  constraint approvals_state check (
    state = 'pending' and decided_at is null and closed_at is null
    or state in ('granted', 'refused') and decided_at is not null and closed_at is null
    or state = 'used' and decided_at is not null and closed_at is not null
    or state in ('expired', 'withdrawn') and closed_at is not null
  ),
  constraint approvals_words_changed check (not words_changed or state = 'withdrawn')
) strict, without rowid;
create index approvals_waiting on approvals (sponsor_key, expires_at) where state = 'pending';
create index approvals_open on approvals (expires_at) where state in ('pending', 'granted');
-- What a person answered or missed, by the time of that.
create index approvals_settled on approvals (
  sponsor_key,
  (coalesce(decided_at, case state when 'expired' then expires_at else closed_at end)),
  approval_id
) where coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) is not null;

-- Notices of approvals that wait, which the receiver has not taken yet (Service:Approvals:Notify).
create table approval_notices (
  approval_id text primary key,
  sponsor_key text not null,
  due_at integer not null,
  failures integer not null,
  -- A notice that was sent stays until due_at, and the person gets no other one meanwhile.
  is_sent integer not null
) strict, without rowid;
create index approval_notices_by_person on approval_notices (sponsor_key, due_at);

-- How often an agent has asked a person to approve something, in an hour that begins with its first question.
create table asked_questions (
  sponsor_key text not null,
  agent_id text not null,
  asked integer not null,
  -- Whether a further question was refused and recorded.
  is_refused integer not null,
  -- The end of the hour.
  forget_at integer not null,
  primary key (sponsor_key, agent_id)
) strict, without rowid;
create index asked_questions_by_forgetting on asked_questions (forget_at);

create table revoked_tokens (
  jti text primary key,
  task_id text not null,
  revoked_at integer not null,
  reason text not null,
  -- From this time no tool server accepts the token, and the row may be deleted.
  forget_at integer not null,
  -- The list that has the task's status.
  status_list text
) strict, without rowid;
create index revoked_tokens_by_forgetting on revoked_tokens (forget_at);
create index revoked_tokens_by_status_list on revoked_tokens (status_list, task_id) where status_list is not null;

create table spent_assertions (
  agent_id text not null,
  jti text not null,
  forget_at integer not null,
  primary key (agent_id, jti)
) strict, without rowid;
create index spent_assertions_by_forgetting on spent_assertions (forget_at);

-- Signals of identity providers (specification "POST /backchannel-logout", "POST /events") and requests of tool servers for
-- approvals, each accepted once.
create table accepted_signals (
  receiver text not null check (receiver in ('approval', 'logout', 'ssf')),
  issuer text not null,
  jti text not null,
  forget_at integer not null,
  primary key (receiver, issuer, jti)
) strict, without rowid;
create index accepted_signals_by_forgetting on accepted_signals (forget_at);

-- Sessions (by sid) and people (by sub) that have logged out. Subject tokens from before the logout are refused.
create table logouts (
  kind text not null check (
    kind in (
      'session', 'person', 'person_without_session', 'me_session', 'me_person', 'me_person_without_session',
      'operator_session', 'operator_person', 'operator_person_without_session'
    )
  ),
  name text not null,
  -- The latest logout, by the provider's clock.
  stated_at integer not null,
  forget_at integer not null,
  primary key (kind, name)
) strict, without rowid;
create index logouts_by_forgetting on logouts (forget_at);

-- Sessions of the page /me and of the console. Only the browser knows the secret.
create table sessions (
  -- SHA-256 of the secret, in lowercase hex.
  session_hash text primary key,
  kind text not null,
  iss text not null,
  sub text not null,
  -- Null for an operator whose token has none.
  sponsor_key text,
  -- An operator's, as of the sign-in, with spaces between them.
  roles text not null,
  -- The session of the identity provider.
  sid text,
  authenticated_at integer,
  created_at integer not null,
  last_used_at integer not null,
  expires_at integer not null,
  -- Encrypted with the secret.
  sealed_id_token text,
  constraint sessions_kind check (kind = 'operator' or kind = 'me' and sponsor_key is not null and roles = '')
) strict, without rowid;
create index sessions_by_sid on sessions (sid, kind) where sid is not null;
create index sessions_by_sub on sessions (sub, kind);
create index sessions_by_expiry on sessions (expires_at);

-- The ledger (specification "Audit record", "Ledger and seal"), append-only. INSERT OR REPLACE deletes a row without
-- running its DELETE trigger. So the ledger's tables also refuse an insert whose key exists.
create table ledger (
  -- AUTOINCREMENT never reuses a number, not even that of a deleted last row.
  -- A larger number cannot be sealed: it is no exact number in JSON.
  seq integer primary key autoincrement constraint ledger_number check (seq <= 9007199254740991),
  ts integer not null,
  event text not null,
  task_id text,
  agent_id text,
  sponsor text,
  audience text,
  scope text,
  jti text,
  delegation_depth integer,
  decision text constraint ledger_decision check (decision in ('allow', 'deny')),
  reason text,
  count integer,
  detail text
) strict;
create index ledger_by_time on ledger (ts);
create index ledger_by_sponsor on ledger (sponsor, ts) where sponsor is not null;
create index ledger_by_agent on ledger (agent_id, ts) where agent_id is not null;
create index ledger_by_task on ledger (task_id, ts) where task_id is not null;
-- Most records are of that event: an entry for each would cost every exchange.
create index ledger_by_event on ledger (event, ts) where event <> 'token.issued';
-- The id of the approval, which the detail of these records begins with.
create index ledger_by_approval on ledger (substr(detail, 10, 35))
  where event in (
    'approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn'
  );
create index ledger_of_denials on ledger (ts) where decision = 'deny';
create trigger ledger_no_update before update on ledger
  begin select raise(abort, 'the ledger is append-only'); end;
create trigger ledger_no_delete before delete on ledger
  begin select raise(abort, 'the ledger is append-only'); end;
create trigger ledger_no_replace before insert on ledger
  when exists (select 1 from ledger where seq = new.seq)
  begin select raise(abort, 'the ledger is append-only'); end;

create table ledger_archives (
  -- For example 2026-11.
  month text primary key,
  -- The first instant after the month.
  archived_before integer not null,
  archived_at integer not null,
  -- The contents of the export; null if the month had no records.
  first_checkpoint integer,
  last_checkpoint integer,
  first_seq integer,
  last_seq integer
) strict;
create trigger ledger_archives_no_update before update on ledger_archives
  begin select raise(abort, 'the ledger is append-only'); end;
create trigger ledger_archives_no_delete before delete on ledger_archives
  begin select raise(abort, 'the ledger is append-only'); end;
create trigger ledger_archives_no_replace before insert on ledger_archives
  when exists (select 1 from ledger_archives where month = new.month)
  begin select raise(abort, 'the ledger is append-only'); end;

-- The checkpoints that seal the ledger (specification "Checkpoint").
create table checkpoints (
  checkpoint_id integer primary key,
  first_seq integer not null,
  last_seq integer not null,
  tree_size integer not null,
  root_hash text not null,
  prev_checkpoint_hash text,
  closed_at integer not null,
  kid text not null,
  signature text not null
) strict;
-- Ranges have no gaps, so the first checkpoint that ends at a number or after it covers that number.
create index checkpoints_by_range on checkpoints (last_seq);
create trigger checkpoints_no_update before update on checkpoints
  begin select raise(abort, 'the checkpoints are append-only'); end;
create trigger checkpoints_no_delete before delete on checkpoints
  begin select raise(abort, 'the checkpoints are append-only'); end;
create trigger checkpoints_no_replace before insert on checkpoints
  when exists (select 1 from checkpoints where checkpoint_id = new.checkpoint_id)
  begin select raise(abort, 'the checkpoints are append-only'); end;

-- The transparency log (`Service:Audit:Log`): a Merkle tree over the checkpoints. It is computed from them, so it needs
-- no guard: readers of the log find every change to it.
--
-- One row, from the first start with the log.
create table log_state (
  only_row integer primary key check (only_row = 1),
  -- The name of the log in its signed notes.
  origin text not null,
  -- The tree of the newest signed note. The root is in lowercase hex.
  size integer not null,
  root text not null,
  -- Null until the tree is signed under this origin.
  note text,
  -- The newest note with enough cosignatures: GET /log/checkpoint. Null before the first.
  published_size integer,
  published_note text,
  -- The note published before it. If a witness contradicts the newer one, readers get this one again.
  previous_size integer,
  previous_note text,
  -- The largest tree that a witness contradicted. No note of this size or a smaller one is published from then on.
  contradicted_size integer,
  -- Why no further tree is signed; null while trees are signed.
  halted text
) strict;

-- The hashes of each tile in base64. The last tile of a level may have fewer than 256.
create table log_tiles (
  level integer not null,
  tile_index integer not null,
  hashes text not null,
  primary key (level, tile_index)
) strict;

-- The newest cosignature of each witness.
create table log_cosignatures (
  -- The name of the witness's key.
  witness text primary key,
  size integer not null,
  -- The signature line, without its newline.
  line text not null,
  at integer not null
) strict;

-- Why the newest checkpoint has no cosignature of a witness.
create table log_problems (
  -- The name of the witness's key.
  witness text primary key,
  kind text not null
    check (kind in
      ('ahead', 'contradicted', 'unknown_key', 'unknown_log', 'wrong_clock', 'wrong_answer', 'unavailable')),
  detail text,
  since integer not null
) strict;

-- Every key that signed checkpoints or notes while the log was on.
create table log_keys (
  use text not null check (use in ('checkpoint', 'log')),
  kid text not null,
  -- RFC 7638.
  thumbprint text not null,
  -- The JWK of a key of checkpoints, the verifier key of a key of the log.
  public_key text not null,
  active_from integer not null,
  -- Null while the key signs.
  active_to integer,
  primary key (use, kid, thumbprint)
) strict;

-- Records that the sink has not received yet (specification "Sink").
create table outbox (
  seq integer primary key,
  due_at integer not null,
  failures integer not null
) strict;
-- One row: whether an append queues its record.
create table outbox_queueing (
  only_row integer primary key check (only_row = 1),
  queueing integer not null
) strict;
insert into outbox_queueing (only_row, queueing) values (1, 0);
