/**
 * The decisions that are asked often, or must not be interrupted, each one round trip. Inside a volatile PL/pgSQL
 * function every statement sees anew what has been committed: so a lock taken in one is honoured by the next.
 *
 * Locks are always taken in the order of `locks.ts`: person, subject, session, agent, then rows, then the ledger's fence.
 */

import { OLDEST_FIRST } from '../../rows/block-row.ts';
import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';
import { LOCK } from '../locks.ts';

export const decisions: Migration = {
  name: '0005-decisions',
  statements: [
    // Spends an assertion; false when it was spent before. Of two at once the second waits for the first to commit.
    `create function spend_assertion(p_agent_id text, p_jti text, p_forget_at timestamptz) returns boolean
    language plpgsql as $$
    begin
      insert into spent_assertions (agent_id, jti, forget_at) values (p_agent_id, p_jti, p_forget_at)
        on conflict do nothing;
      return found;
    end $$`,

    // What stands in a decision's way, under its locks; null when nothing does, and then the assertion is spent. A
    // replay outranks a block, so a blocked person's assertion is looked up, but not spent: nothing may be written.
    `create function find_obstacle(
      p_agent_id text, p_agent_revision bigint, p_sponsor_key text,
      p_assertion_agent_id text, p_jti text, p_forget_at timestamptz
    ) returns text language plpgsql ${BY_INDEX} as $$
    declare
      v_revision bigint;
      v_block text;
    begin
      select revision into v_revision from agents where agent_id = p_agent_id;
      if v_revision is distinct from p_agent_revision then
        return 'agent_changed';
      end if;
      select kind into v_block from sponsor_blocks where sponsor_key = p_sponsor_key ${OLDEST_FIRST} limit 1;
      if found then
        perform 1 from spent_assertions where agent_id = p_assertion_agent_id and jti = p_jti;
        return case when found then 'replayed' else v_block end;
      end if;
      if not spend_assertion(p_assertion_agent_id, p_jti, p_forget_at) then
        return 'replayed';
      end if;
      return null;
    end $$`,

    `create function open_task(
      p_refuse_logged_out boolean, p_issued_at timestamptz,
      p_task_id text, p_agent_id text, p_sponsor_key text, p_sponsor text, p_session_id text, p_parent_task_id text,
      p_audience text, p_scope text, p_delegation_depth integer, p_created_at timestamptz, p_expires_at timestamptz,
      p_grant_hash text, p_agent_revision bigint,
      p_assertion_agent_id text, p_jti text, p_forget_at timestamptz,
      p_other_jti text, p_other_forget_at timestamptz, p_entry ledger_entry
    ) returns text language plpgsql ${BY_INDEX} as $$
    declare
      v_obstacle text;
    begin
      perform pg_advisory_xact_lock_shared(${LOCK.sponsor}, hashtext(p_sponsor_key));
      -- A logout names the subject, and nothing else. Where that is the sponsor key it takes the lock above.
      if p_sponsor <> p_sponsor_key then
        perform pg_advisory_xact_lock_shared(${LOCK.subject}, hashtext(p_sponsor));
      end if;
      if p_session_id is not null then
        perform pg_advisory_xact_lock_shared(${LOCK.session}, hashtext(p_session_id));
      end if;
      perform pg_advisory_xact_lock_shared(${LOCK.agent}, hashtext(p_agent_id));
      v_obstacle := find_obstacle(
        p_agent_id, p_agent_revision, p_sponsor_key, p_assertion_agent_id, p_jti, p_forget_at);
      if v_obstacle is not null then
        return v_obstacle;
      end if;
      -- The second assertion of the request. If it was used before, the first is unspent again: only this transaction saw it.
      if p_other_jti is not null and not spend_assertion(p_assertion_agent_id, p_other_jti, p_other_forget_at) then
        delete from spent_assertions where agent_id = p_assertion_agent_id and jti = p_jti;
        return 'replayed';
      end if;
      if p_refuse_logged_out and is_logged_out(p_sponsor, p_session_id, p_issued_at, p_created_at) then
        -- Spent by this transaction, so no other has seen them.
        delete from spent_assertions where agent_id = p_assertion_agent_id and jti in (p_jti, p_other_jti);
        return 'logged_out';
      end if;
      -- Of a task that is delegated. Whatever is ending its parent is waited for; what ends that later waits for this.
      if p_parent_task_id is not null then
        perform 1 from tasks
          where task_id = p_parent_task_id and state = 'live' and expires_at > p_created_at for share;
        if not found then
          -- Spent by this transaction, so no other has seen them.
          delete from spent_assertions where agent_id = p_assertion_agent_id and jti in (p_jti, p_other_jti);
          return 'parent_ended';
        end if;
      end if;
      insert into tasks (
        task_id, agent_id, sponsor_key, sponsor, session_id, parent_task_id, audience, scope, delegation_depth,
        created_at, expires_at
      ) values (
        p_task_id, p_agent_id, p_sponsor_key, p_sponsor, p_session_id, p_parent_task_id, p_audience, p_scope,
        p_delegation_depth, p_created_at, p_expires_at
      );
      insert into task_grants (grant_hash, task_id, scope) values (p_grant_hash, p_task_id, p_scope);
      perform append_record(p_entry);
      return 'opened';
    end $$`,

    // Whatever ends a task revokes its grants in the same transaction, so the grant's row is all there is to check; an
    // update that waited for one under way looks at the row again before it counts.
    `create function renew_grant(
      p_task_id text, p_agent_id text, p_sponsor_key text, p_grant_hash text, p_grant_scope text, p_scope text,
      p_agent_revision bigint, p_assertion_agent_id text, p_jti text, p_forget_at timestamptz,
      p_record_each boolean, p_entry ledger_entry
    ) returns text language plpgsql ${BY_INDEX} as $$
    declare
      v_obstacle text;
      v_renewals integer;
    begin
      perform pg_advisory_xact_lock_shared(${LOCK.sponsor}, hashtext(p_sponsor_key));
      perform pg_advisory_xact_lock_shared(${LOCK.agent}, hashtext(p_agent_id));
      v_obstacle := find_obstacle(
        p_agent_id, p_agent_revision, p_sponsor_key, p_assertion_agent_id, p_jti, p_forget_at);
      if v_obstacle is not null then
        return v_obstacle;
      end if;
      update task_grants set renewals = renewals + 1, scope = p_scope,
          unrecorded = unrecorded + case when renewals = 0 or p_record_each then 0 else 1 end
        where grant_hash = p_grant_hash and task_id = p_task_id and scope = p_grant_scope and revoked_at is null
        returning renewals into v_renewals;
      if not found then
        -- Ours, and of this transaction: nobody has seen it.
        delete from spent_assertions where agent_id = p_assertion_agent_id and jti = p_jti;
        return 'grant_changed';
      end if;
      if v_renewals = 1 or p_record_each then
        perform append_record(p_entry);
      end if;
      return 'renewed';
    end $$`,

    // Records a refusal under the reason that holds now, and answers it.
    `create function refuse(
      p_sponsor_key text, p_assertion_agent_id text, p_jti text, p_forget_at timestamptz,
      p_other_jti text, p_other_forget_at timestamptz, p_entry ledger_entry
    ) returns text language plpgsql ${BY_INDEX} as $$
    declare
      v_block text;
      v_replayed boolean;
    begin
      if p_sponsor_key is not null then
        perform pg_advisory_xact_lock_shared(${LOCK.sponsor}, hashtext(p_sponsor_key));
        select kind into v_block from sponsor_blocks where sponsor_key = p_sponsor_key ${OLDEST_FIRST} limit 1;
      end if;
      v_replayed := p_jti is not null and not spend_assertion(p_assertion_agent_id, p_jti, p_forget_at);
      if p_other_jti is not null and not spend_assertion(p_assertion_agent_id, p_other_jti, p_other_forget_at) then
        v_replayed := true;
      end if;
      if v_replayed then
        p_entry.reason := 'actor_replayed';
      elsif v_block is not null then
        p_entry.reason := case v_block when 'disabled' then 'sponsor_disabled' else 'sponsor_not_found' end;
      end if;
      perform append_record(p_entry);
      return p_entry.reason;
    end $$`,

    // Writes what the ledger says of tasks that have just ended, after other records of the same decision: renewals that
    // have no record of their own summed up, then the end. What was counted is final once the grants are revoked.
    // Everything is put together before the fence is taken: see write_records.
    `create function write_ends(p_ids text[], p_at timestamptz, p_first ledger_entry[]) returns void
    language plpgsql ${BY_INDEX} as $$
    declare
      v_entries ledger_entry[];
      v_at timestamptz;
    begin
      v_entries := p_first || array(
        select row(null, said.event, t.task_id, t.agent_id, t.sponsor, t.audience, t.scope, null, t.delegation_depth,
            'allow', said.reason, said.count, null)::ledger_entry
          from unnest(p_ids) as ended (task_id)
            cross join lateral (select * from tasks where tasks.task_id = ended.task_id offset 0) t
            cross join lateral (
              select sum(g.unrecorded)::integer as unrecorded from task_grants g where g.task_id = t.task_id
            ) counted
            cross join lateral (values
              (1, 'token.refreshed', null, counted.unrecorded),
              (2, 'task.' || t.state, coalesce(t.end_reason, 'task_ttl_elapsed'), null)
            ) as said (nth, event, reason, count)
          where said.nth = 2 or counted.unrecorded > 0
          order by t.created_at, t.task_id, said.nth);
      if cardinality(v_entries) > 0 then
        v_at := ledger_time(p_at);
        perform write_records(v_at, v_entries);
      end if;
    end $$`,

    // Those of the tasks that are live, locked in the order of their keys. Each is looked up by itself (offset 0, or for update,
    // keeps a lookup from becoming a join): no planner can guess how many there are, and for one task it would read all.
    // One whose time is up is not live, swept or not: an expiry is never recorded as a revocation.
    `create function lock_live_tasks(p_ids text[], p_at timestamptz) returns text[] language plpgsql ${BY_INDEX} as $$
    begin
      return array(
        select named.task_id from (select id collate "C" as task_id from unnest(p_ids) as id order by 1) named
          cross join lateral (
            select from tasks t where t.task_id = named.task_id and t.state = 'live' and t.expires_at > p_at for update
          ) task);
    end $$`,

    // Ends live tasks and everything delegated from them, and answers how many. The roots end with the given reason, also
    // where one was delegated from another; the rest with 'parent_revoked'. The first records come before those of the
    // tasks. Rows are locked as above.
    //
    // An exchange that delegates from one of them may be by an agent and for a person whose locks nobody has taken here;
    // what holds it up is its parent's row. One that came first has committed by the time that row is ours, and is looked
    // for then; none comes later.
    `create function end_tasks_after(p_roots text[], p_at timestamptz, p_reason text, p_first ledger_entry[])
    returns integer language plpgsql ${BY_INDEX} as $$
    declare
      v_named text[];
      v_delegated text[];
      v_ids text[];
      v_ended text[] := array[]::text[];
    begin
      loop
        with recursive tree as (
          select root collate "C" as task_id, true as named from unnest(p_roots) as root
          union
          select child.task_id, false from tree cross join lateral (
            select task_id from tasks where parent_task_id = tree.task_id offset 0
          ) child
        )
        select coalesce(array_agg(task_id) filter (where named), array[]::text[]),
            coalesce(array_agg(task_id) filter (where not named), array[]::text[])
          into v_named, v_delegated
          from (
            select tree.task_id, named
              from (select task_id, bool_or(named) as named from tree group by task_id order by task_id) tree
                cross join lateral (
                  select from tasks t where t.task_id = tree.task_id and t.state = 'live' and t.expires_at > p_at for update
                ) task
          ) doomed;
        v_ids := v_named || v_delegated;
        update task_grants set revoked_at = p_at where task_id = any (v_ids);
        update tasks set state = 'revoked', ended_at = p_at, end_reason = p_reason where task_id = any (v_named);
        if cardinality(v_delegated) > 0 then
          update tasks set state = 'revoked', ended_at = p_at, end_reason = 'parent_revoked'
            where task_id = any (v_delegated);
        end if;
        v_ended := v_ended || v_ids;
        exit when not exists (
          select from unnest(v_ids) as ended (task_id) cross join lateral (
            select from tasks below
              where below.parent_task_id = ended.task_id and below.state = 'live' and below.expires_at > p_at offset 0
          ) child);
      end loop;
      perform write_ends(v_ended, p_at, p_first);
      return cardinality(v_ended);
    end $$`,

    // The same with one first record, or with null for none.
    `create function end_tasks(p_roots text[], p_at timestamptz, p_reason text, p_first ledger_entry)
    returns integer language plpgsql as $$
    begin
      return end_tasks_after(p_roots, p_at, p_reason,
        case when p_first.at is null then array[]::ledger_entry[] else array[p_first] end);
    end $$`,

    // A grant's task never changes hands, so who the person is can be read before their lock is taken.
    `create function revoke_by_grant(
      p_agent_id text, p_grant_hash text, p_at timestamptz, p_reason text,
      p_assertion_agent_id text, p_jti text, p_forget_at timestamptz
    ) returns text language plpgsql ${BY_INDEX} as $$
    declare
      v_task_id text;
      v_sponsor_key text;
      v_agent_id text;
      v_state text;
    begin
      select task_id into v_task_id from task_grants where grant_hash = p_grant_hash;
      select sponsor_key, agent_id into v_sponsor_key, v_agent_id from tasks where task_id = v_task_id;
      if v_agent_id is distinct from p_agent_id then
        return 'not_found';
      end if;
      perform pg_advisory_xact_lock(${LOCK.sponsor}, hashtext(v_sponsor_key));
      if not spend_assertion(p_assertion_agent_id, p_jti, p_forget_at) then
        return 'replayed';
      end if;
      select state into v_state from tasks where task_id = v_task_id;
      if v_state is distinct from 'live' or end_tasks(array[v_task_id], p_at, p_reason, null) = 0 then
        return 'already_ended';
      end if;
      return 'revoked';
    end $$`,

    `create function revoke_token(
      p_jti text, p_task_id text, p_at timestamptz, p_reason text, p_forget_at timestamptz,
      p_assertion_agent_id text, p_assertion_jti text, p_assertion_forget_at timestamptz, p_entry ledger_entry
    ) returns text language plpgsql ${BY_INDEX} as $$
    begin
      if not spend_assertion(p_assertion_agent_id, p_assertion_jti, p_assertion_forget_at) then
        return 'replayed';
      end if;
      insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at)
        values (p_jti, p_task_id, p_at, p_reason, p_forget_at) on conflict do nothing;
      if not found then
        return 'already_revoked';
      end if;
      perform append_record(p_entry);
      return 'revoked';
    end $$`,

    // Answers each block of the person, and beside each how many tasks it ended.
    `create function block_sponsor(
      p_sponsor_key text, p_source text, p_kind text, p_at timestamptz, p_reason text
    ) returns table (source text, kind text, blocked_at timestamptz, revoked_tasks integer)
    language plpgsql ${BY_INDEX} as $$
    #variable_conflict use_column
    declare
      v_first ledger_entry;
      v_revoked integer;
    begin
      perform pg_advisory_xact_lock(${LOCK.sponsor}, hashtext(p_sponsor_key));
      insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at)
        values (p_sponsor_key, p_source, p_kind, p_at, p_at) on conflict do nothing;
      if found then
        v_first := row(p_at, 'sponsor.blocked', null, null, p_sponsor_key, null, null, null, null, 'allow',
          'sponsor_blocked', null, null);
      end if;
      v_revoked := end_tasks(
        array(select task_id from tasks where sponsor_key = p_sponsor_key and state = 'live'),
        p_at, p_reason, v_first);
      return query select b.source, b.kind, b.blocked_at, v_revoked
        from sponsor_blocks b where b.sponsor_key = p_sponsor_key;
    end $$`,
  ],
};
