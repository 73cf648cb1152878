/**
 * What an operator stops at once (specification "Admin API", DELETE of tasks): each answers how many tasks ended, null
 * where there is no such task or agent. Locks are taken in the order of `locks.ts`.
 */

import type { Migration } from '../../rows/migrations.ts';
import { BY_INDEX } from '../by-index.ts';
import { LOCK } from '../locks.ts';

export const killSwitches: Migration = {
  name: '0010-kill-switches',
  statements: [
    // A task never changes hands, so who the person is can be read before their lock is taken.
    `create function end_task(p_task_id text, p_at timestamptz, p_reason text) returns integer
    language plpgsql ${BY_INDEX} as $$
    declare
      v_sponsor_key text;
    begin
      select sponsor_key into v_sponsor_key from tasks where task_id = p_task_id;
      if not found then
        return null;
      end if;
      perform pg_advisory_xact_lock(${LOCK.sponsor}, hashtext(v_sponsor_key));
      return end_tasks(array[p_task_id], p_at, p_reason, null);
    end $$`,

    `create function end_tasks_of_agent(p_agent_id text, p_at timestamptz, p_reason text) returns integer
    language plpgsql ${BY_INDEX} as $$
    begin
      perform pg_advisory_xact_lock(${LOCK.agent}, hashtext(p_agent_id));
      perform 1 from agents where agent_id = p_agent_id;
      if not found then
        return null;
      end if;
      return end_tasks(
        array(select task_id from tasks where agent_id = p_agent_id and state = 'live'), p_at, p_reason, null);
    end $$`,

    // With one first record, or with null for none.
    `create function end_tasks_of_sponsor(p_sponsor_key text, p_at timestamptz, p_reason text, p_first ledger_entry)
    returns integer language plpgsql ${BY_INDEX} as $$
    begin
      perform pg_advisory_xact_lock(${LOCK.sponsor}, hashtext(p_sponsor_key));
      return end_tasks(
        array(select task_id from tasks where sponsor_key = p_sponsor_key and state = 'live'), p_at, p_reason, p_first);
    end $$`,
  ],
};
