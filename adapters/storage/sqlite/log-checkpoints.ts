/**
 * Moves the write-ahead log into the database file (a checkpoint, https://sqlite.org/wal.html). SQLite by default does it
 * in a commit, which then waits for the disk twice. Here it follows the answers of a batch, once enough was written, or
 * after a time without writes. When the file is closed, SQLite does it a last time.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Handle } from './handle.ts';
import { CHANGES_BETWEEN_CHECKPOINTS, IDLE_CHECKPOINT_MS } from './limits.ts';

interface LogCheckpoints {
  /** Called after each batch, once its promises are settled. */
  afterBatch(isCommitted: boolean): Promise<void>;
  stop(): void;
}

/**
 * @param written is called after each batch that committed a change
 * @param around runs each checkpoint
 */
export function logCheckpoints(
  handle: Handle,
  written: () => void = () => undefined,
  around: (run: () => void) => void = (run) => run(),
): LogCheckpoints {
  const changed = handle.prepare<{ changes: number }>('select total_changes() as changes');
  let done = 0;
  let counted = 0;
  let idle: NodeJS.Timeout | undefined;

  const changes = (): number => changed.get()?.changes ?? 0;

  // Passive: it does not wait for readers. Pages that another process still reads stay in the log until the next
  // checkpoint.
  const checkpoint = (): void => {
    try {
      around(() => handle.exec('pragma wal_checkpoint(passive)'));
    } catch {
      // The log still holds everything. If the disk is full or fails, the next commit reports it.
    }
    done = changes();
  };

  return {
    async afterBatch(isCommitted) {
      clearTimeout(idle);
      const total = changes();
      if (isCommitted && total > counted) written();
      counted = total;
      const waiting = total - done;
      if (waiting === 0) return;
      if (waiting < CHANGES_BETWEEN_CHECKPOINTS) {
        idle = setTimeout(checkpoint, IDLE_CHECKPOINT_MS);
        return;
      }
      // The responses are sent at the end of this event loop turn.
      await nextTurn();
      checkpoint();
    },
    stop: () => clearTimeout(idle),
  };
}
