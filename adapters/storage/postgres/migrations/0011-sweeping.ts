/**
 * What time alone changes (specification "Task", expiry and deletion): each one transaction on a bounded number of rows,
 * and answers how many. Rows that another instance is at are passed over.
 */

import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';
import { LOCK } from '../locks.ts';

export const sweeping: Migration = {
  name: '0011-sweeping',
  statements: [
    // A renewal that counts itself on a grant meanwhile is waited for: then its count is in the summary.
    `create function expire_tasks(p_over_by timestamptz, p_at timestamptz, p_limit integer) returns integer
    language plpgsql ${BY_INDEX} as $$
    declare
      v_ids text[];
    begin
      v_ids := array(
        select task_id from tasks where ended_at is null and expires_at <= p_over_by
          order by expires_at limit p_limit for update skip locked);
      update task_grants set revoked_at = p_at where task_id = any (v_ids);
      update tasks set state = 'expired', ended_at = expires_at where task_id = any (v_ids);
      perform write_ends(v_ids, p_at, array[]::ledger_entry[]);
      return cardinality(v_ids);
    end $$`,

    `create function delete_ended_tasks(p_ended_by timestamptz, p_limit integer)
    returns integer language plpgsql ${BY_INDEX} as $$
    declare
      v_ids text[];
    begin
      v_ids := array(
        select task_id from tasks ended where ended_at <= p_ended_by
            and not exists (select from tasks child where child.parent_task_id = ended.task_id offset 0)
          order by ended_at limit p_limit for update skip locked);
      delete from task_grants where task_id = any (v_ids);
      delete from tasks where task_id = any (v_ids);
      return cardinality(v_ids);
    end $$`,

    // Nobody may lock these rows without changing them, so one instance at a time deletes them. They are taken from where
    // they lie, as no one else moves them: by their keys a planner would join them, and read the whole table for each batch.
    `create function forget(p_until timestamptz, p_limit integer) returns integer language plpgsql ${BY_INDEX} as $$
    declare
      v_forgotten integer := 0;
      v_count integer;
    begin
      if not pg_try_advisory_xact_lock(${LOCK.forgetting}, 0) then
        return 0;
      end if;
      delete from spent_assertions where ctid = any (array(
        select ctid from spent_assertions where forget_at <= p_until order by forget_at limit p_limit));
      get diagnostics v_count = row_count;
      v_forgotten := v_forgotten + v_count;
      delete from revoked_tokens where ctid = any (array(
        select ctid from revoked_tokens where forget_at <= p_until order by forget_at limit p_limit));
      get diagnostics v_count = row_count;
      v_forgotten := v_forgotten + v_count;
      delete from accepted_signals where ctid = any (array(
        select ctid from accepted_signals where forget_at <= p_until order by forget_at limit p_limit));
      get diagnostics v_count = row_count;
      v_forgotten := v_forgotten + v_count;
      delete from logouts where ctid = any (array(
        select ctid from logouts where forget_at <= p_until order by forget_at limit p_limit));
      get diagnostics v_count = row_count;
      return v_forgotten + v_count;
    end $$`,
  ],
};
