/**
 * Moves the write-ahead log into the database file (a checkpoint, https://sqlite.org/wal.html). SQLite by itself does it in
 * a commit, which then waits for the disk once more. Here it comes after the answers of a batch: once enough was written,
 * or when nothing was written for a while. SQLite does it for the last time when the file is closed.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Handle } from './handle.ts';
import { CHANGES_BETWEEN_CHECKPOINTS, IDLE_CHECKPOINT_MS } from './limits.ts';

export interface LogCheckpoints {
  /** Called after each batch, whose promises are resolved. */
  afterBatch(): Promise<void>;
  stop(): void;
}

export function logCheckpoints(handle: Handle): LogCheckpoints {
  const changed = handle.prepare<{ changes: number }>('select total_changes() as changes');
  let done = 0;
  let idle: NodeJS.Timeout | undefined;

  const changes = (): number => changed.get()?.changes ?? 0;

  // Passive: it waits for nobody. What a reader in another process still needs stays for the next time.
  const checkpoint = (): void => {
    try {
      handle.exec('pragma wal_checkpoint(passive)');
    } catch {
      // Everything is in the log. If the disk is full or fails, the next commit says so.
    }
    done = changes();
  };

  return {
    async afterBatch() {
      clearTimeout(idle);
      const waiting = changes() - done;
      if (waiting === 0) return;
      if (waiting < CHANGES_BETWEEN_CHECKPOINTS) {
        idle = setTimeout(checkpoint, IDLE_CHECKPOINT_MS);
        return;
      }
      // The answers leave at the end of this turn.
      await nextTurn();
      checkpoint();
    },
    stop: () => clearTimeout(idle),
  };
}
