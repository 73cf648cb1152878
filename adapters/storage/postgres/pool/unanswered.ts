/**
 * Connections that were lost while they committed. A server process that waits for a synchronous standby does not notice
 * that its client has left, and keeps its slot in `max_connections`. So such a connection stays counted against its pool
 * until that process is gone. Otherwise each further decision would take one more slot, until none is
 * left for others.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { ASK_UNANSWERED_MS } from '../limits.ts';
import type { Ask } from './capabilities.ts';
import type { Backend } from './primary.ts';

export interface UnansweredCommits {
  readonly count: number;
  /**
   * Counts a connection whose socket is closed.
   *
   * @param release ends the counting. Called once
   */
  keep(backend: Backend, release: () => void): void;
  /** Releases all. */
  close(): void;
}

/**
 * Selects the given processes that still run. The caller has closed their connections, so each ends with its statement.
 * Their `state` is not asked: with `track_activities = off` the server does not tell it. The start of another role's
 * processes is hidden: ours have the same role.
 */
const living = {
  name: 'living_backends',
  text: 'select pid, backend_start::text as started_at from pg_stat_activity where pid = any ($1::integer[])',
};

/** @param run asks the current primary, with short limits */
export function unansweredCommits(run: Ask): UnansweredCommits {
  const kept = new Map<string, { readonly backend: Backend; readonly release: () => void }>();
  const closing = new AbortController();
  let isAsking = false;

  async function ask(): Promise<void> {
    isAsking = true;
    while (kept.size > 0) {
      await pause(ASK_UNANSWERED_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) break;
      await releaseEnded().catch(() => undefined);
    }
    isAsking = false;
  }

  async function releaseEnded(): Promise<void> {
    const asked = [...kept];
    const pids = `{${asked.map(([, { backend }]) => backend.pid).join(',')}}`;
    const { rows } = await run<{ pid: number; started_at: string }>(living, [pids]);
    const alive = new Set(rows.map(({ pid, started_at: startedAt }) => nameOf({ pid, startedAt })));
    for (const [name, { release }] of asked) {
      if (alive.has(name)) continue;
      kept.delete(name);
      release();
    }
  }

  return {
    get count() {
      return kept.size;
    },
    keep(backend, release) {
      if (closing.signal.aborted) return release();
      kept.set(nameOf(backend), { backend, release });
      if (!isAsking) void ask();
    },
    close() {
      closing.abort();
      for (const { release } of kept.values()) release();
      kept.clear();
    },
  };
}

function nameOf({ pid, startedAt }: Backend): string {
  return `${pid} ${startedAt}`;
}
