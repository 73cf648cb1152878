/** The ledger (specification "Audit record", "Ledger and seal", "Sink"): append-only, one partition a month. */

import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';
import { SET_BACK } from '../errors.ts';
import { LOCK } from '../locks.ts';

const HOLD_FENCE = `perform pg_advisory_xact_lock_shared(${LOCK.ledgerFence}, 0)`;

/**
 * The fence, and in a later statement what is newest; the number only after both. Never the other way round, and never
 * in one statement, which would see what was there before it waited. A decision may have taken many seconds since it was
 * dated: how far ahead a record may be is counted from now.
 */
const TAKE_FENCE = `${HOLD_FENCE};
      v_ahead := p_at + interval '1 minute' + date_trunc('second', clock_timestamp() - transaction_timestamp());
      select ts into v_newest from ledger where ts > p_at and ts < v_ahead order by ts desc limit 1;`;

/**
 * The fence keeps a number out of a sealed range only as long as the sequence goes on where it was. One that was set
 * back, as by a failover that carries no sequences, would break the seal for good, and nobody would notice.
 * A minimum is one probe of the index whatever is known of the table; for `exists` a planner may read all of it.
 */
const refuseSealed = (
  number: string,
) => `if (select min(last_seq) from checkpoints where last_seq >= ${number}) is not null then
        raise exception 'ledger_seq was set back into what is sealed' using errcode = '${SET_BACK}';
      end if;`;

/** A request's body is 64 KiB at most. Escaped, four characters for a byte, it is far from the longest line of an export. */
const MAX_RECORD_BYTES = 131_072;

export const ledger: Migration = {
  name: '0003-ledger',
  statements: [
    // One number at a time: a cached range would give a later append an earlier number.
    `create sequence ledger_seq as bigint cache 1`,

    `create table ledger (
      seq bigint not null default nextval('ledger_seq'),
      ts timestamptz not null,
      event text not null,
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
      -- Above all that a request can say. What is longer could be sealed, but not be exported, and would keep its month.
      constraint ledger_size check (
        octet_length(event) + coalesce(octet_length(audience), 0) + coalesce(octet_length(scope), 0)
          + coalesce(octet_length(jti), 0) + coalesce(octet_length(reason), 0) + coalesce(octet_length(detail), 0)
        <= ${MAX_RECORD_BYTES}),
      primary key (ts, seq)
    ) partition by range (ts)`,
    `alter sequence ledger_seq owned by ledger.seq`,
    // Ranges are sealed and read by number, through whichever partitions they lie in.
    `create index ledger_by_seq on ledger (seq)`,
    `create index ledger_by_sponsor on ledger (sponsor, ts, seq) where sponsor is not null`,
    `create index ledger_by_agent on ledger (agent_id, ts, seq) where agent_id is not null`,
    `create index ledger_by_task on ledger (task_id, ts, seq) where task_id is not null`,
    `create index ledger_of_denials on ledger (ts, seq) where decision = 'deny'`,

    `create table ledger_archives (
      -- 2026-11
      month text collate "C" primary key,
      -- The first instant after it.
      archived_before timestamptz not null,
      archived_at timestamptz not null,
      -- What its export holds; null when there was nothing in that month.
      first_checkpoint integer,
      last_checkpoint integer,
      first_seq bigint,
      last_seq bigint
    )`,

    // Records that still have to be copied to the sink.
    `create table outbox (
      seq bigint primary key,
      due_at timestamptz not null,
      failures integer not null
    ) with (fillfactor = 90)`,
    // One row: whether appends queue their record.
    `create table outbox_queueing (
      only_row boolean primary key check (only_row),
      queueing boolean not null
    )`,
    `insert into outbox_queueing (only_row, queueing) values (true, false)`,

    `create function refuse_ledger_change() returns trigger language plpgsql as $$
    begin
      raise exception 'the ledger is append-only' using errcode = 'insufficient_privilege';
    end $$`,
    // Rows are guarded by a trigger that Postgres copies to every partition. Statements, TRUNCATE among them, are
    // guarded table by table: each partition gets this trigger when it is made.
    `create trigger ledger_append_only_rows before update or delete on ledger
      for each row execute function refuse_ledger_change()`,
    `create trigger ledger_append_only before update or delete or truncate on ledger
      for each statement execute function refuse_ledger_change()`,
    `create trigger ledger_archives_append_only before update or delete or truncate on ledger_archives
      for each statement execute function refuse_ledger_change()`,
    `revoke update, delete, truncate on ledger, ledger_archives from public, current_user`,

    // What a record says, before it has a number.
    `create type ledger_entry as (
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
    )`,

    // Pages are read in the order of time, then number. The services' clocks differ, and a decision waits for locks
    // after it was dated: so under the fence an append is dated no earlier than what is there already, unless that is
    // so far ahead that a clock must have been wrong. See docs/decisions/0001-ledger-paging.md.
    `create function ledger_time(p_at timestamptz) returns timestamptz language plpgsql ${BY_INDEX} as $$
    declare
      v_ahead timestamptz;
      v_newest timestamptz;
    begin
      ${TAKE_FENCE}
      return coalesce(v_newest, p_at);
    end $$`,

    // These two run as their owner, since nobody else may insert: the role that serves can add records to the ledger,
    // but neither choose their numbers nor pass by the fence.
    //
    // For a decision that may write thousands, in the order that they come in: it asks for the time once, and dates them
    // all by it. From the first number on every other append may have to wait for a sealer that waits for this one, so
    // they are one statement. The fence is held by then; whoever came here without it would be sealed over.
    `create function write_records(p_at timestamptz, p_entries ledger_entry[]) returns void
    language plpgsql security definer ${BY_INDEX} as $$
    declare
      v_first bigint;
    begin
      ${HOLD_FENCE};
      with written as (
        insert into ledger (
          ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail
        )
        select p_at, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count,
            detail
          from unnest(p_entries) with ordinality as entry (
            at, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count,
            detail, nth
          ) order by nth
        returning seq
      ), queued as (
        insert into outbox (seq, due_at, failures)
          select seq, '-infinity', 0 from written where (select queueing from outbox_queueing where only_row)
      )
      select min(seq) into v_first from written;
      ${refuseSealed('v_first')}
    end $$`,

    `create function append_record(p_entry ledger_entry) returns void
    language plpgsql security definer ${BY_INDEX} as $$
    declare
      p_at timestamptz := p_entry.at;
      v_ahead timestamptz;
      v_newest timestamptz;
      v_seq bigint;
    begin
      ${TAKE_FENCE}
      insert into ledger (
        ts, event, task_id, agent_id, sponsor, audience, scope, jti, delegation_depth, decision, reason, count, detail
      ) values (
        coalesce(v_newest, p_at), p_entry.event, p_entry.task_id, p_entry.agent_id, p_entry.sponsor, p_entry.audience,
        p_entry.scope, p_entry.jti, p_entry.delegation_depth, p_entry.decision, p_entry.reason, p_entry.count,
        p_entry.detail
      ) returning seq into v_seq;
      ${refuseSealed('v_seq')}
      -- Due at once, whatever clock dated it.
      if (select queueing from outbox_queueing where only_row) then
        insert into outbox (seq, due_at, failures) values (v_seq, '-infinity', 0);
      end if;
    end $$`,

    // Runs as its owner, so that the serving role, which owns nothing, can see to next month's partition. A table is
    // attached rather than created as a partition, because only that lets appends go on meanwhile.
    `create function create_ledger_partitions(p_now timestamptz, p_months_ahead integer) returns void
    language plpgsql security definer as $$
    declare
      v_month timestamp := date_trunc('month', p_now at time zone 'UTC');
      v_left timestamptz := (select max(archived_before) from ledger_archives);
      v_name text;
      v_grantee oid;
    begin
      if p_months_ahead not between 0 and 12 then
        raise exception 'partitions are created at most twelve months ahead';
      end if;
      -- Whoever may call this must not be able to fill the catalogue with tables that can never be dropped again.
      if p_now not between now() - interval '10 years' and now() + interval '10 years' then
        raise exception 'partitions are created around the present only';
      end if;
      perform pg_advisory_xact_lock(${LOCK.partitions}, 0);
      for v_ahead in 0..p_months_ahead loop
        v_name := 'ledger_' || to_char(v_month, 'YYYY_MM');
        -- A month that has left stays away: a partition of its name would keep all later ones from leaving.
        if to_regclass(format('%I.%I', current_schema(), v_name)) is null
          and (v_left is null or v_month at time zone 'UTC' >= v_left)
        then
          execute format('create table %I (like ledger including defaults including constraints)', v_name);
          execute format('revoke all on %I from public', v_name);
          execute format('revoke update, delete, truncate on %I from current_user', v_name);
          for v_grantee in
            select distinct acl.grantee from pg_class c, aclexplode(c.relacl) acl
              where c.oid = to_regclass(format('%I.%I', current_schema(), v_name)) and acl.grantee not in (0, c.relowner)
          loop
            execute format('revoke all on %I from %s', v_name, v_grantee::regrole);
          end loop;
          execute format('create trigger ledger_append_only before update or delete or truncate on %I
            for each statement execute function refuse_ledger_change()', v_name);
          execute format('alter table ledger attach partition %I for values from (%L) to (%L)', v_name,
            v_month at time zone 'UTC', (v_month + interval '1 month') at time zone 'UTC');
        end if;
        v_month := v_month + interval '1 month';
      end loop;
    end $$`,
    // They must find our tables and nobody else's, whatever the caller's search path is.
    `do $$
    declare
      v_function text;
    begin
      foreach v_function in array array['create_ledger_partitions', 'append_record', 'write_records'] loop
        execute format('alter function %I set search_path = %I, pg_temp', v_function, current_schema());
      end loop;
    end $$`,
    // A month's ends are written out and read again: in a caller's time zone they could come to mean something else.
    `alter function create_ledger_partitions set timezone = 'UTC'`,
    `alter function create_ledger_partitions set datestyle = 'ISO'`,
  ],
};
