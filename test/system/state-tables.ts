/** A model of the state tables in the specification ("States and transitions"). */

import { decodeJwt } from 'jose';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface ModelToken {
  readonly jwt: string;
  /** In seconds since the epoch. */
  readonly expiresAt: number;
  revoked: boolean;
}

/** How a task ended: the event and the reason of its record. */
interface End {
  readonly event: 'task.revoked' | 'task.expired';
  readonly reason: string;
  /** In seconds since the epoch. */
  readonly at: number;
}

export interface ModelTask {
  readonly taskId: string;
  readonly agentId: string;
  readonly person: string;
  readonly grant: string;
  /** In seconds since the epoch. */
  readonly expiresAt: number;
  readonly tokens: ModelToken[];
  renewals: number;
  /** Absent for a live task, and for an expired task whose expiry is not recorded yet. */
  end: End | undefined;
  deleted: boolean;
}

export interface Expectation {
  readonly status: number;
  /** The `reason` of the response, otherwise its `error`. Absent after a success. */
  readonly reason: string | undefined;
}

type Body = Readonly<Record<string, unknown>>;

const GRANTED: Expectation = { status: 200, reason: undefined };
const refused = (reason: string): Expectation => ({ status: 400, reason });

/** No token is issued if the task ends sooner than this. */
const ENDING_SECONDS = 5;
/** A task is deleted this long after its expiry: by a replica's slower clock a token may still be active. */
const CLOCKS_DIFFER_BY_SECONDS = 60;

const seconds = (instant: Instant) => secondsBetween(0 as Instant, instant);

const tokenOf = (body: Body): ModelToken => {
  const jwt = String(body.access_token);
  return { jwt, expiresAt: decodeJwt(jwt).exp ?? 0, revoked: false };
};

/** @param retention in seconds. @param clockAheadBy seconds between the end of a task and the record of its expiry */
export function stateTables(retention: number, clockAheadBy: number) {
  const tasks: ModelTask[] = [];
  const blocked = new Set<string>();
  const disabled = new Set<string>();
  const isOver = (task: ModelTask, now: Instant) => task.expiresAt <= seconds(now);

  return {
    tasks,
    blocked,
    disabled,

    isLive: (task: ModelTask, now: Instant) => task.end === undefined && !isOver(task, now),

    exchange(agentId: string, person: string): Expectation {
      if (disabled.has(agentId)) return refused('agent_disabled');
      return blocked.has(person) ? refused('sponsor_disabled') : GRANTED;
    },

    opened(agentId: string, person: string, body: Body): void {
      tasks.push({
        agentId,
        person,
        taskId: String(body.task_id),
        grant: String(body.refresh_token),
        expiresAt: Date.parse(String(body.task_expires_at)) / 1000,
        tokens: [tokenOf(body)],
        renewals: 0,
        end: undefined,
        deleted: false,
      });
    },

    refresh(task: ModelTask, now: Instant): Expectation {
      if (disabled.has(task.agentId)) return refused('agent_disabled');
      if (task.deleted) return refused('invalid_grant');
      if (task.end?.event === 'task.revoked') return refused('task_revoked');
      if (isOver(task, now)) return refused('task_expired');
      if (task.expiresAt - seconds(now) < ENDING_SECONDS) return refused('task_ending');
      return blocked.has(task.person) ? refused('sponsor_disabled') : GRANTED;
    },

    renewed(task: ModelTask, body: Body): void {
      task.renewals += 1;
      task.tokens.push(tokenOf(body));
    },

    revoked(task: ModelTask, reason: string, now: Instant): void {
      task.end = { event: 'task.revoked', reason, at: seconds(now) };
    },

    swept(now: Instant): void {
      for (const task of tasks) {
        if (task.end === undefined && task.expiresAt + clockAheadBy <= seconds(now)) {
          task.end = { event: 'task.expired', reason: 'task_ttl_elapsed', at: task.expiresAt };
        }
        const kept = task.end === undefined || task.end.at + retention > seconds(now);
        if (!kept && task.expiresAt + CLOCKS_DIFFER_BY_SECONDS <= seconds(now)) task.deleted = true;
      }
    },

    introspect(task: ModelTask, token: ModelToken, now: Instant): { active: boolean; reason: string | null } {
      const inactive = { active: false, reason: null };
      if (token.expiresAt <= seconds(now) || task.deleted) return inactive;
      if (token.revoked) return { active: false, reason: 'client_revoked' };
      if (task.end?.event === 'task.revoked') return { active: false, reason: task.end.reason };
      if (isOver(task, now)) return inactive;
      return disabled.has(task.agentId) ? { active: false, reason: 'agent_disabled' } : { active: true, reason: null };
    },

    /** The task's values in its status list, while a token of it has not expired. */
    statusesOf(task: ModelTask, now: Instant): readonly number[] {
      if (task.end !== undefined) return [1];
      if (disabled.has(task.agentId)) return [2];
      const revoked = task.tokens.filter((token) => token.revoked);
      if (revoked.some(({ expiresAt }) => expiresAt > seconds(now))) return [3];
      // The revocation of a token that has expired may be forgotten.
      return revoked.length > 0 ? [0, 3] : [0];
    },

    /** The event, reason and count of those records of the task that have the decision `allow`. */
    ledgerOf({ renewals, end }: ModelTask): readonly (readonly unknown[])[] {
      return [
        ['token.issued', null, undefined],
        ...(renewals > 0 ? [['token.refreshed', null, undefined]] : []),
        ...(end !== undefined && renewals > 1 ? [['token.refreshed', null, renewals - 1]] : []),
        ...(end === undefined ? [] : [[end.event, end.reason, undefined]]),
      ];
    },
  };
}
