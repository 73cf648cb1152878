-- The schema of Mandate on Postgres 15 and later: tables, the ledger's guards, and functions. Through these functions the
-- serving role appends to tables into which it has no right to insert. The rules of decisions are in
-- application/decisions, not here.
--
-- Text that is a key has the collation "C": it sorts by code point, and a change of the operating system's collation
-- cannot break its index. The first number of each advisory lock is one of locks.ts.
--
-- `mandate migrate` replaces @schema@ by the name of the schema, as CREATE EXTENSION does with @extschema@. It applies
-- this file with `search_path = pg_catalog, pg_temp`, and functions that run as their owner keep that search path. So a
-- name without a schema is always one of Postgres. With our schema in the search path, an object of another role there
-- could take its place: for a call, Postgres prefers unnest(ledger_entry[]) to its own unnest(anyarray).

-- Registered agents (specification "Agent registration"). sponsor_required is always true, so it is not stored.
create table @schema@.agents (
  agent_id text collate "C" primary key,
  display_name text not null,
  allowed_scopes text not null,
  allowed_audiences json not null,
  high_risk_audiences json not null,
  max_task_ttl integer not null,
  max_token_ttl integer not null,
  max_delegation_depth integer not null,
  jwks_uri text,
  jwks json,
  -- How the identity provider names the agent in may_act: an array; null if only its id names it.
  may_act_names json,
  -- What a client of /oauth2/authorize is: arrays of texts, whether PKCE alone authenticates it, and the URL of its document.
  redirect_uris json,
  public_client boolean not null,
  client_id_document text collate "C",
  client_names json,
  -- The agents that it may hand work to: an array of ids; null for none.
  delegates_to json,
  enabled boolean not null,
  revision bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The last change of jwks_uri or jwks.
  keys_since timestamptz not null,
  -- A client that PKCE or its document authenticates may have none.
  constraint agents_one_source_of_keys check (num_nonnulls(jwks_uri, jwks) = 1
    or (num_nonnulls(jwks_uri, jwks) = 0 and (public_client or client_id_document is not null)))
);
create unique index agents_by_document on @schema@.agents (client_id_document) where client_id_document is not null;
create index agents_disabled on @schema@.agents (agent_id) where not enabled;
create index agents_public on @schema@.agents (agent_id) where public_client;
create index agents_by_token_ttl on @schema@.agents (max_token_ttl, agent_id);

-- Blocks, one for each person and source (specification "Sponsor block"). A row exists while its source blocks.
create table @schema@.sponsor_blocks (
  sponsor_key text collate "C" not null,
  source text not null check (source in ('admin', 'scim', 'self', 'ssf')),
  kind text not null check (kind in ('disabled', 'deleted')),
  blocked_at timestamptz not null,
  -- The time of the source's latest statement: the iat of a security event, else blocked_at.
  stated_at timestamptz not null,
  primary key (sponsor_key, source)
);
-- For lists, newest first. The conditions keep the planner from these indexes where a lookup does not name their key.
create index sponsor_blocks_newest on @schema@.sponsor_blocks (blocked_at, sponsor_key, source) where blocked_at is not null;
create index sponsor_blocks_by_source on @schema@.sponsor_blocks (source, blocked_at, sponsor_key) where source is not null;

-- The ledger (specification "Audit record", "Ledger and seal", "Sink"): append-only, with one partition for each month.
-- The sequence has no cache: with cached ranges a later append could get a lower number.
create sequence @schema@.ledger_seq as bigint cache 1;

create table @schema@.ledger (
  seq bigint not null default nextval('@schema@.ledger_seq'),
  ts timestamptz not null,
  event text collate "C" not null,
  task_id text collate "C",
  agent_id text collate "C",
  sponsor text collate "C",
  audience text,
  scope text,
  jti text,
  delegation_depth integer,
  decision text constraint ledger_decision check (decision in ('allow', 'deny')),
  reason text,
  count integer,
  detail text,
  -- More than any request can hold. A longer record could be sealed, but its month could not be exported.
  constraint ledger_size check (
    octet_length(event) + coalesce(octet_length(audience), 0) + coalesce(octet_length(scope), 0)
      + coalesce(octet_length(jti), 0) + coalesce(octet_length(reason), 0) + coalesce(octet_length(detail), 0)
    <= 131072),
  -- A larger number cannot be sealed: it is no exact number in JSON.
  constraint ledger_number check (seq <= 9007199254740991),
  primary key (ts, seq)
) partition by range (ts);
alter sequence @schema@.ledger_seq owned by @schema@.ledger.seq;
-- Sealing reads ranges by number, over all partitions. Each partition has a unique index on `seq` for that: a unique index of
-- the whole table would have to contain `ts`. append_records compares the numbers of different partitions.
create index ledger_by_sponsor on @schema@.ledger (sponsor, ts, seq) where sponsor is not null;
create index ledger_by_agent on @schema@.ledger (agent_id, ts, seq) where agent_id is not null;
create index ledger_by_task on @schema@.ledger (task_id, ts, seq) where task_id is not null;
-- Most records are of that event: an entry for each would cost every exchange.
create index ledger_by_event on @schema@.ledger (event, ts, seq) where event <> 'token.issued';
-- The id of the approval, which the detail of these records begins with.
create index ledger_by_approval on @schema@.ledger (substr(detail, 10, 35))
  where event in (
    'approval.requested', 'approval.granted', 'approval.refused', 'approval.used', 'approval.expired', 'approval.withdrawn'
  );
create index ledger_of_denials on @schema@.ledger (ts, seq) where decision = 'deny';

create table @schema@.ledger_archives (
  -- For example 2026-11.
  month text collate "C" primary key,
  -- The first instant after the month.
  archived_before timestamptz not null,
  archived_at timestamptz not null,
  -- The contents of the export; null if the month had no records.
  first_checkpoint integer,
  last_checkpoint integer,
  first_seq bigint,
  last_seq bigint
);

-- Records that the sink has not received yet.
create table @schema@.outbox (
  seq bigint primary key,
  due_at timestamptz not null,
  failures integer not null
) with (fillfactor = 90);

-- One row: whether an append queues its record for the sink.
create table @schema@.outbox_queueing (
  only_row boolean primary key check (only_row),
  queueing boolean not null
);
insert into @schema@.outbox_queueing (only_row, queueing) values (true, false);

create function @schema@.refuse_ledger_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'the ledger is append-only' using errcode = 'insufficient_privilege';
end $$;

-- Postgres copies a row trigger to every partition, but not a statement trigger. Each partition gets its own statement
-- trigger when it is created.
create trigger ledger_append_only_rows before update or delete on @schema@.ledger
  for each row execute function @schema@.refuse_ledger_change();
create trigger ledger_append_only before update or delete or truncate on @schema@.ledger
  for each statement execute function @schema@.refuse_ledger_change();
create trigger ledger_archives_append_only before update or delete or truncate on @schema@.ledger_archives
  for each statement execute function @schema@.refuse_ledger_change();
revoke update, delete, truncate on @schema@.ledger, @schema@.ledger_archives from public, current_user;

-- A record before it has a number.
create type @schema@.ledger_entry as (
  at timestamptz,
  event text,
  task_id text,
  agent_id text,
  sponsor text,
  audience text,
  scope text,
  jti text,
  delegation_depth integer,
  decision text,
  reason text,
  count integer,
  detail text
);

-- Tells one record from another that has its number, for a process that remembers its newest record. The time is a number here,
-- because as text it would depend on the session's settings. It runs as its caller, and is short enough to be inlined.
create function @schema@.record_hash(r @schema@.ledger) returns text language sql stable as $$
  select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to((r.seq, extract(epoch from r.ts), r.event, r.task_id, r.agent_id,
    r.sponsor, r.audience, r.scope, r.jti, r.delegation_depth, r.decision, r.reason, r.count, r.detail)::text, 'UTF8')), 'hex')
$$;

-- Appends entries in their order. It runs as its owner: the serving role can append, but can neither choose a number nor
-- skip the fence. See docs/decisions/0001-ledger-paging.md.
--
-- It takes the fence, then reads the newest record in a later statement, then takes the numbers. A statement that waits
-- for the fence would not see what was committed meanwhile. While this append waits, a sealer may wait for it, and all
-- later appends for the sealer.
--
-- An entry is not dated before an existing record: clocks of instances differ, and a decision waits for locks after it was
-- dated. A record more than a minute ahead is ignored, because its clock was wrong. A decision may have taken long since
-- it was dated, so the minute counts from now.
-- Returns the number of the first record, and number, time and hash of the newest one. It also keeps the first number for the rest
-- of the transaction, unless an earlier call has: an operator's act names the first record that it explains.
create function @schema@.append_records(
  p_entries @schema@.ledger_entry[], out first_number bigint, out newest_number bigint, out newest_at timestamptz, out newest_hash text
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_from timestamptz;
  v_until timestamptz;
  v_dated timestamptz;
  v_written record;
begin
  perform pg_advisory_xact_lock_shared(1296105476, 0);
  select min(at), max(at) into v_from, v_until from unnest(p_entries);
  v_until := v_until + interval '1 minute' + date_trunc('second', clock_timestamp() - transaction_timestamp());
  select ts into v_dated from @schema@.ledger where ts > v_from and ts < v_until order by ts desc limit 1;
  with written as (
    insert into @schema@.ledger as stored (
      ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail
    )
    select greatest(at, v_dated), event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail
      from unnest(p_entries) with ordinality as entry (
        at, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail, nth
      ) order by nth
    returning seq, stored
  ), queued as (
    -- Due at once: the record's time may come from a clock that is ahead.
    insert into @schema@.outbox (seq, due_at, failures)
      select seq, '-infinity', 0 from written where (select queueing from @schema@.outbox_queueing where only_row)
  )
  select min(seq) over () as first_number, count(*) over () as records, stored into v_written
    from written order by seq desc limit 1;
  -- A trigger that is not ours can pass over an insert, and Postgres then reports no error.
  if coalesce(v_written.records, 0) <> cardinality(p_entries) then
    raise exception 'a record was not stored' using errcode = '55006';
  end if;
  first_number := v_written.first_number;
  newest_number := (v_written.stored).seq;
  newest_at := (v_written.stored).ts;
  newest_hash := @schema@.record_hash(v_written.stored);
  -- A sequence that was set back, for example by a failover that copies no sequences, returns numbers that are already
  -- sealed. `min` reads one entry of the index. With `exists` the planner may read the whole table.
  -- The number itself is compared with those of other records, not with the newest: of concurrent appends, the one with the higher
  -- numbers may be committed first. Between these numbers there are hardly any others.
  if (select min(last_seq) from @schema@.checkpoints where last_seq >= first_number) is not null
    or (select count(*) > count(distinct seq) from @schema@.ledger where seq between first_number and newest_number)
  then
    raise exception 'ledger_seq was set back below numbers that are taken' using errcode = '55000';
  end if;
  if coalesce(current_setting('mandate.first_record', true), '') = '' then
    perform set_config('mandate.first_record', first_number::text, true);
  end if;
end $$;

-- Creates the missing partitions for the month of p_now and the months after it. It runs as its owner, so that the
-- serving role can prepare the next month. It attaches new tables, so that appends can continue meanwhile.
create function @schema@.create_ledger_partitions(p_now timestamptz, p_months_ahead integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_month timestamp := date_trunc('month', p_now at time zone 'UTC');
  v_left timestamptz := (select max(archived_before) from @schema@.ledger_archives);
  v_name text;
  v_grantee oid;
begin
  if p_months_ahead not between 0 and 12 then
    raise exception 'partitions are created at most twelve months ahead';
  end if;
  -- The serving role must not be able to fill the catalogue with tables that can never be dropped.
  if p_now not between now() - interval '10 years' and now() + interval '10 years' then
    raise exception 'partitions can be created only within ten years of now';
  end if;
  perform pg_advisory_xact_lock(1296105478, 0);
  for v_ahead in 0..p_months_ahead loop
    v_name := 'ledger_' || to_char(v_month, 'YYYY_MM');
    -- An archived month gets no new partition: that would keep all later months from being archived.
    if to_regclass('@schema@.' || v_name) is null
      and (v_left is null or v_month at time zone 'UTC' >= v_left)
    then
      execute format('create table @schema@.%I (like @schema@.ledger including defaults including constraints)', v_name);
      execute format('create unique index %I on @schema@.%I (seq)', v_name || '_by_seq', v_name);
      execute format('revoke all on @schema@.%I from public', v_name);
      execute format('revoke update, delete, truncate on @schema@.%I from current_user', v_name);
      for v_grantee in
        select distinct acl.grantee from pg_class c, aclexplode(c.relacl) acl
          where c.oid = to_regclass('@schema@.' || v_name) and acl.grantee not in (0, c.relowner)
      loop
        execute format('revoke all on @schema@.%I from %s', v_name, v_grantee::regrole);
      end loop;
      execute format('create trigger ledger_append_only before update or delete or truncate on @schema@.%I
        for each statement execute function @schema@.refuse_ledger_change()', v_name);
      execute format('alter table @schema@.ledger attach partition @schema@.%I for values from (%L) to (%L)', v_name,
        v_month at time zone 'UTC', (v_month + interval '1 month') at time zone 'UTC');
    end if;
    v_month := v_month + interval '1 month';
  end loop;
end $$;
-- The function writes a month's bounds as text and parses them: in a caller's time zone they could mean another instant.
alter function @schema@.create_ledger_partitions set timezone = 'UTC';
alter function @schema@.create_ledger_partitions set datestyle = 'ISO';

-- Tasks with their grants, revoked tokens and spent assertions (specification "Task (stored)", "Token"). A foreign key to
-- the agent would lock the agent's row in every exchange. The agent's advisory lock replaces it.
create table @schema@.tasks (
  task_id text collate "C" primary key,
  agent_id text collate "C" not null,
  sponsor_key text collate "C" not null,
  sponsor text not null,
  session_id text collate "C",
  parent_task_id text collate "C",
  delegated_by text,
  audience text not null,
  scope text not null,
  -- The scopes of the person's token, and those that the agent requested; null without the console.
  held_scope text,
  asked_scope text,
  delegation_depth integer not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  state text collate "C" not null default 'live',
  ended_at timestamptz,
  end_reason text,
  -- The task's index in a status list, until no token of the task can be valid.
  status_list text collate "C",
  status_index integer,
  constraint tasks_state check (
    state = 'live' and ended_at is null and end_reason is null
    or state = 'revoked' and ended_at is not null and end_reason is not null
    or state = 'expired' and ended_at is not null and end_reason is null
  ),
  constraint tasks_status check ((status_list is null) = (status_index is null))
);

-- These keys are never null, except session and parent. The condition keeps the planner from using an index for lookups
-- that do not name its key. If it believes the table empty, it might otherwise read a whole index to find one task.
-- With the task, whose id tells its age: a list begins with the newest.
create index tasks_by_agent on @schema@.tasks (agent_id, state, task_id) where agent_id is not null;
create index tasks_by_sponsor on @schema@.tasks (sponsor_key, state, task_id) where sponsor_key is not null;
-- An expression, because only a list of all tasks may use this index: `state = 'live'` is in many statements.
create index tasks_by_state on @schema@.tasks (lower(state), task_id) where lower(state) is not null;
create index tasks_live_by_session on @schema@.tasks (session_id) where state = 'live' and session_id is not null;
-- With the state: the live tasks below one are counted beside any number that have ended.
create index tasks_by_parent on @schema@.tasks (parent_task_id, state) where parent_task_id is not null;
-- With the session, so that a task without one is found beside any number of the person's tasks that have one.
create index tasks_live_by_subject on @schema@.tasks (sponsor, session_id) where state = 'live' and sponsor is not null;
-- Statistics lag behind the newest tasks, so the planner expects no task to expire later. To find one by its id, it
-- would then read all of this index. `ended_at is null` means live too, but does not match `state = 'live'`.
create index tasks_by_expiry on @schema@.tasks (expires_at) where ended_at is null;
-- A task with an index in a status list is not deleted.
create index tasks_by_end on @schema@.tasks (ended_at) where ended_at is not null and status_list is null;
create index tasks_ended_by_sponsor on @schema@.tasks (sponsor_key, ended_at, task_id) where ended_at is not null and sponsor_key is not null;
-- The conditions keep a list of its ended tasks from reading all its tasks, also while the tables are small.
create unique index tasks_status_index on @schema@.tasks (status_list, status_index) where status_index is not null;
create index tasks_status_ended on @schema@.tasks (status_list, status_index) where status_list is not null and state <> 'live';
create index tasks_status_by_expiry on @schema@.tasks (expires_at) where status_list is not null and state <> 'live';

-- Token status lists (draft-ietf-oauth-status-list). tasks has no foreign key to them: every exchange would lock the
-- list's row.
create table @schema@.status_lists (
  -- 128 random bits in base64url.
  list_id text collate "C" primary key,
  audience text not null,
  -- The number of indices.
  entries integer not null,
  created_at timestamptz not null,
  -- From this time no task gets an index of the list. Null while tasks do.
  closed_at timestamptz
);
-- An audience may be longer than an entry of a B-tree.
create index status_lists_open on @schema@.status_lists using hash (audience) where closed_at is null;
create index status_lists_by_creation on @schema@.status_lists (created_at);

-- What agents stated as the purposes of their tasks (Service:Tasks:Purpose). The ledger has only a hash of the salt and the
-- words. A row is deleted with its task.
create table @schema@.task_purposes (
  task_id text collate "C" primary key,
  purpose text not null,
  salt text not null
);

create table @schema@.task_grants (
  -- SHA-256 of the grant, in lowercase hex; of a rotating one, without its rotation.
  grant_hash text collate "C" primary key,
  task_id text collate "C" not null references @schema@.tasks,
  scope text not null,
  renewals integer not null default 0,
  -- Renewals that are not recorded yet. The end of the task records their number.
  unrecorded integer not null default 0,
  -- The last renewal; null before the first.
  renewed_at timestamptz,
  revoked_at timestamptz,
  -- SHA-256 of the newest refresh token, and of the one before it, if they rotate.
  rotation_hash text,
  previous_hash text
) with (fillfactor = 90);

create index task_grants_by_task on @schema@.task_grants (task_id);

-- What clients ask people for at /oauth2/authorize, from the person's return from the identity provider on, and what they
-- answered (domain/authorization). A row from which a task came is deleted with it.
create table @schema@.authorizations (
  request_id text collate "C" primary key,
  -- SHA-256 of the secret of the browser that asked.
  browser_hash text not null,
  agent_id text collate "C" not null,
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
  sponsor_key text collate "C" not null,
  sponsor text collate "C" not null,
  session_id text collate "C",
  -- The times of the person's token and of their sign-in.
  issued_at timestamptz,
  authenticated_at timestamptz,
  began_at timestamptz not null,
  came_at timestamptz not null,
  -- Until then the person may answer.
  expires_at timestamptz not null,
  state text collate "C" not null,
  answered_at timestamptz,
  void_reason text,
  code_hash text collate "C" unique,
  code_expires_at timestamptz,
  chosen_scope text,
  task_ends_at timestamptz,
  -- The task that the code opens.
  task_id text collate "C" unique,
  -- From this time the row may be deleted. Null once a task came from it.
  forget_at timestamptz,
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
);
-- Of those that an end makes void. The conditions on the names keep the planner from an index of another name.
create index authorizations_waiting_for_sponsor on @schema@.authorizations (sponsor_key, request_id) where state in ('open', 'allowed') and sponsor_key is not null;
create index authorizations_waiting_for_subject on @schema@.authorizations (sponsor, session_id) where state in ('open', 'allowed') and sponsor is not null;
create index authorizations_waiting_of_agent on @schema@.authorizations (agent_id, request_id) where state in ('open', 'allowed') and agent_id is not null;
create index authorizations_waiting_of_session on @schema@.authorizations (session_id) where state in ('open', 'allowed') and session_id is not null;
create index authorizations_by_forgetting on @schema@.authorizations (forget_at) where forget_at is not null;

-- How often everything, or an agent, was ended. A request whose person is still at the identity provider keeps the counts of its
-- beginning, and ends when the person comes back if they differ.
create table @schema@.authorization_ends (
  kind text collate "C" not null check (kind in ('everything', 'agent')),
  -- The agent's id, or empty.
  name text collate "C" not null,
  ends integer not null,
  -- Of the last one.
  reason text not null,
  forget_at timestamptz not null,
  primary key (kind, name)
);
create index authorization_ends_by_forgetting on @schema@.authorization_ends (forget_at);

-- Approvals: a person's yes or no to one action of a task (Service:Approvals). The ledger has only a hash of the words. They
-- are deleted with the task.
create table @schema@.approvals (
  approval_id text collate "C" primary key,
  task_id text collate "C" not null references @schema@.tasks,
  sponsor_key text collate "C" not null,
  -- Counts the approvals of one digest of the task: the last one decides.
  round integer not null,
  digest text collate "C" not null,
  -- SHA-256 over the words with their salt, in lowercase hex.
  commitment text collate "C" not null,
  salt text collate "C" not null,
  title text not null,
  lines json not null,
  state text collate "C" not null,
  requested_at timestamptz not null,
  -- When it stops waiting for the person; after a yes, when the agent can no longer use it.
  expires_at timestamptz not null,
  -- When the person answered.
  decided_at timestamptz,
  -- When it was used, expired or was withdrawn.
  closed_at timestamptz,
  -- Withdrawn because the same call came with other words.
  words_changed boolean not null,
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
);
create index approvals_waiting on @schema@.approvals (sponsor_key, expires_at) where state = 'pending' and sponsor_key is not null;
-- A query for one person does not say `closed_at is null`. So Postgres cannot take this index for it, with old statistics.
create index approvals_open on @schema@.approvals (expires_at) where state in ('pending', 'granted') and closed_at is null;
-- What a person answered or missed, by the time of that.
create index approvals_settled on @schema@.approvals (
  sponsor_key,
  (coalesce(decided_at, case state when 'expired' then expires_at else closed_at end)),
  approval_id
) where coalesce(decided_at, case state when 'expired' then expires_at else closed_at end) is not null;

-- Notices of approvals that wait, which the receiver has not taken yet (Service:Approvals:Notify).
create table @schema@.approval_notices (
  approval_id text collate "C" primary key,
  sponsor_key text collate "C" not null,
  due_at timestamptz not null,
  failures integer not null,
  -- A notice that was sent stays until due_at, and the person gets no other one meanwhile.
  is_sent boolean not null
) with (fillfactor = 90);
create index approval_notices_by_person on @schema@.approval_notices (sponsor_key, due_at);

-- How often an agent has asked a person to approve something, in an hour that begins with its first question.
create table @schema@.asked_questions (
  sponsor_key text collate "C" not null,
  agent_id text collate "C" not null,
  asked integer not null,
  -- Whether a further question was refused and recorded.
  is_refused boolean not null,
  -- The end of the hour.
  forget_at timestamptz not null,
  primary key (sponsor_key, agent_id)
) with (fillfactor = 90);
create index asked_questions_by_forgetting on @schema@.asked_questions (forget_at);

create table @schema@.revoked_tokens (
  jti text collate "C" primary key,
  task_id text collate "C" not null,
  revoked_at timestamptz not null,
  reason text not null,
  -- From this time no tool server accepts the token, and the row may be deleted.
  forget_at timestamptz not null,
  -- The list that has the task's status.
  status_list text collate "C"
);

create index revoked_tokens_by_forgetting on @schema@.revoked_tokens (forget_at);
create index revoked_tokens_by_status_list on @schema@.revoked_tokens (status_list, task_id) where status_list is not null;

create table @schema@.spent_assertions (
  agent_id text collate "C" not null,
  jti text collate "C" not null,
  forget_at timestamptz not null,
  primary key (agent_id, jti)
);

create index spent_assertions_by_forgetting on @schema@.spent_assertions (forget_at);

-- The checkpoints of the ledger (specification "Checkpoint", "Ledger and seal"): append-only.
create table @schema@.checkpoints (
  checkpoint_id integer primary key,
  first_seq bigint not null,
  last_seq bigint not null,
  tree_size bigint not null,
  root_hash text not null,
  prev_checkpoint_hash text,
  closed_at timestamptz not null,
  kid text not null,
  signature text not null
);

-- Ranges have no gaps, so the first checkpoint that ends at a number or after it covers that number.
create index checkpoints_by_range on @schema@.checkpoints (last_seq);

create trigger checkpoints_append_only before update or delete or truncate on @schema@.checkpoints
  for each statement execute function @schema@.refuse_ledger_change();

revoke update, delete, truncate on @schema@.checkpoints from public, current_user;

-- The last number that the sequence returned. If the sequence was set back, records with higher numbers exist.
create function @schema@.last_number() returns bigint language sql stable as $$
  select case when is_called then last_value else last_value - 1 end from @schema@.ledger_seq
$$;

-- Returns the newest checkpoint, and the number of the newest record after it. It takes the fence in one statement, and
-- reads the range in later ones. By then all earlier appends have committed or rolled back, and all later ones get a
-- higher number. Appends wait behind this function, so it waits at most a second for the fence.
create function @schema@.unsealed(out previous @schema@.checkpoints, out highest bigint) language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off set lock_timeout = '1s' as $$
begin
  perform pg_advisory_xact_lock(1296105476, 0);
  select * into previous from @schema@.checkpoints order by checkpoint_id desc limit 1;
  select max(seq) into highest from @schema@.ledger where seq > coalesce(previous.last_seq, 0);
  if highest > 9007199254740991 then
    raise exception 'a record has a number beyond 2^53 - 1' using errcode = '22003';
  end if;
  -- A number was used twice, or will be. Such a range must not be signed.
  if @schema@.last_number() < greatest(previous.last_seq, highest) then
    raise exception 'ledger_seq was set back below numbers that are taken' using errcode = '55000';
  end if;
end $$;

-- Adds a checkpoint if it is the successor of the newest one, and returns whether it is. Of two concurrent calls the
-- second waits for the first, and its checkpoint is then no successor. It runs as its owner: the serving role can neither
-- leave a gap nor seal a record that does not exist.
create function @schema@.add_checkpoint(
  p_checkpoint_id integer, p_first_seq bigint, p_last_seq bigint, p_tree_size bigint, p_root_hash text,
  p_prev_checkpoint_hash text, p_closed_at timestamptz, p_kid text, p_signature text
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_newest @schema@.checkpoints;
begin
  perform pg_advisory_xact_lock(1296105479, 0);
  select * into v_newest from @schema@.checkpoints order by checkpoint_id desc limit 1;
  if p_checkpoint_id is distinct from coalesce(v_newest.checkpoint_id, 0) + 1
    or p_first_seq is distinct from coalesce(v_newest.last_seq, 0) + 1
  then
    return false;
  end if;
  if p_last_seq < p_first_seq
    or (p_prev_checkpoint_hash is null) <> (p_checkpoint_id = 1)
    or not exists (select from @schema@.ledger where seq = p_last_seq)
  then
    raise exception 'a checkpoint must end with a stored record and link to its predecessor'
      using errcode = 'data_exception';
  end if;
  -- A checkpoint that cannot be parsed would stop all sealing and verifying, and could never be removed.
  if (p_tree_size between 1 and p_last_seq - p_first_seq + 1
    and p_closed_at >= '1970-01-01Z' and p_closed_at < '10000-01-01Z'
    and octet_length(p_root_hash) + octet_length(coalesce(p_prev_checkpoint_hash, '')) + octet_length(p_kid)
      + octet_length(p_signature) <= 4096) is not true
  then
    raise exception 'a checkpoint has impossible values' using errcode = 'data_exception';
  end if;
  insert into @schema@.checkpoints (
    checkpoint_id, first_seq, last_seq, tree_size, root_hash, prev_checkpoint_hash, closed_at, kid, signature
  ) values (
    p_checkpoint_id, p_first_seq, p_last_seq, p_tree_size, p_root_hash, p_prev_checkpoint_hash, p_closed_at,
    p_kid, p_signature
  );
  return true;
end $$;

-- The transparency log (`Service:Audit:Log`): a Merkle tree over the checkpoints. It is computed from them, so it needs
-- no guard: readers of the log find every change to it.
--
-- One row, from the first start with the log.
create table @schema@.log_state (
  only_row boolean primary key check (only_row),
  -- The name of the log in its signed notes.
  origin text not null,
  -- The tree of the newest signed note. The root is in lowercase hex.
  size bigint not null,
  root text not null,
  -- Null until the tree is signed under this origin.
  note text,
  -- The newest note with enough cosignatures: GET /log/checkpoint. Null before the first.
  published_size bigint,
  published_note text,
  -- The note published before it. If a witness contradicts the newer one, readers get this one again.
  previous_size bigint,
  previous_note text,
  -- The largest tree that a witness contradicted. No note of this size or a smaller one is published from then on.
  contradicted_size bigint,
  -- Why no further tree is signed; null while trees are signed.
  halted text
);

-- The hashes of each tile in base64. The last tile of a level may have fewer than 256.
create table @schema@.log_tiles (
  level integer not null,
  tile_index bigint not null,
  hashes text not null,
  primary key (level, tile_index)
);

-- The newest cosignature of each witness.
create table @schema@.log_cosignatures (
  -- The name of the witness's key.
  witness text collate "C" primary key,
  size bigint not null,
  -- The signature line, without its newline.
  line text not null,
  at timestamptz not null
);

-- Why the newest checkpoint has no cosignature of a witness.
create table @schema@.log_problems (
  -- The name of the witness's key.
  witness text collate "C" primary key,
  kind text not null
    check (kind in
      ('ahead', 'contradicted', 'unknown_key', 'unknown_log', 'wrong_clock', 'wrong_answer', 'unavailable')),
  detail text,
  since timestamptz not null
);

-- Every key that signed checkpoints or notes while the log was on.
create table @schema@.log_keys (
  use text not null check (use in ('checkpoint', 'log')),
  kid text collate "C" not null,
  -- RFC 7638.
  thumbprint text collate "C" not null,
  -- The JWK of a key of checkpoints, the verifier key of a key of the log.
  public_key text not null,
  active_from timestamptz not null,
  -- Null while the key signs.
  active_to timestamptz,
  primary key (use, kid, thumbprint)
);

-- Signals of the identity provider (specification "POST /backchannel-logout", "POST /events") and requests of tool servers
-- for approvals, each accepted once.
create table @schema@.accepted_signals (
  receiver text collate "C" not null check (receiver in ('approval', 'logout', 'ssf')),
  issuer text collate "C" not null,
  jti text collate "C" not null,
  forget_at timestamptz not null,
  primary key (receiver, issuer, jti)
);
create index accepted_signals_by_forgetting on @schema@.accepted_signals (forget_at);
create table @schema@.logouts (
  kind text collate "C" not null check (
    kind in (
      'session', 'person', 'person_without_session', 'me_session', 'me_person', 'me_person_without_session',
      'operator_session', 'operator_person', 'operator_person_without_session'
    )
  ),
  name text collate "C" not null,
  -- The latest logout, by the provider's clock.
  stated_at timestamptz not null,
  forget_at timestamptz not null,
  primary key (kind, name)
);
create index logouts_by_forgetting on @schema@.logouts (forget_at);

-- Sessions of the page /me and of the console. Only the browser knows the secret.
create table @schema@.sessions (
  -- SHA-256 of the secret, in lowercase hex.
  session_hash text collate "C" primary key,
  kind text collate "C" not null,
  iss text collate "C" not null,
  sub text collate "C" not null,
  -- Null for an operator whose token has none.
  sponsor_key text collate "C",
  -- An operator's, as of the sign-in, with spaces between them.
  roles text collate "C" not null,
  -- The session of the identity provider.
  sid text collate "C",
  authenticated_at timestamptz,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  -- Encrypted with the secret.
  sealed_id_token text collate "C",
  constraint sessions_kind check (kind = 'operator' or kind = 'me' and sponsor_key is not null and roles = '')
);
create index sessions_by_sid on @schema@.sessions (sid, kind) where sid is not null;
create index sessions_by_sub on @schema@.sessions (sub, kind);
create index sessions_by_expiry on @schema@.sessions (expires_at);

-- What operators did (the ledger's event operator.acted). The ledger has only a hash of the salt and the reason.
create table @schema@.operator_acts (
  -- The number of the act's own record.
  seq bigint primary key,
  -- The number of the first record that the act explains; null if it wrote no other record.
  explains bigint,
  iss text not null,
  sub text collate "C" not null,
  role text not null,
  act text not null,
  -- Null with the admin key, and once erased.
  reason text,
  salt text,
  at timestamptz not null
);
create index operator_acts_by_subject on @schema@.operator_acts (sub, seq);
create index operator_acts_by_record on @schema@.operator_acts (explains) where explains is not null;
create index operator_acts_with_reason on @schema@.operator_acts (at) where reason is not null;

-- The first operator's request to lift a block, until a second operator's (Service:Operators:TwoPersonUnblock).
create table @schema@.pending_unblocks (
  sponsor_key text collate "C" primary key,
  iss text not null,
  sub text not null,
  -- The operator's sponsor key. A provider may give a person a different `sub` for each client.
  operator_key text not null,
  -- From this time it no longer counts.
  forget_at timestamptz not null
);
create index pending_unblocks_by_forgetting on @schema@.pending_unblocks (forget_at);

-- The agents that may not hand work to other agents for a person, who refused it (Service:Delegation).
create table @schema@.delegation_refusals (
  sponsor_key text collate "C" not null,
  agent_id text collate "C" not null,
  refused_at timestamptz not null,
  primary key (sponsor_key, agent_id)
);
create index delegation_refusals_by_agent on @schema@.delegation_refusals (agent_id);

-- Users provisioned by SCIM (specification "Provisioning user").
create table @schema@.provisioned_users (
  user_id text collate "C" primary key,
  user_name text not null,
  -- The user_name in the form in which names are compared.
  user_name_key text collate "C" not null unique,
  external_id text collate "C",
  active boolean not null,
  -- The sponsor key that the last write of this user named.
  sponsor_key text collate "C" not null,
  revision bigint not null,
  created_at timestamptz not null,
  modified_at timestamptz not null
);
create index provisioned_users_by_external_id on @schema@.provisioned_users (external_id) where external_id is not null;
create index provisioned_users_by_sponsor on @schema@.provisioned_users (sponsor_key);
