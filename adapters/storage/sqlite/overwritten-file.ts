/**
 * Notices that something other than SQLite wrote to the open database file or its `-wal`: `cp` of a backup over the file
 * keeps device and inode, and SQLite goes on with a mixture of two databases.
 *
 * After each of its writes the thread remembers size and time of both files, and what the index in the `-shm` says. Before
 * an answer leaves it compares them. If a file changed, only another SQLite process may have changed it, and the index
 * shows that:
 *
 * 1. SQLite writes to the database file only in a checkpoint, and enters into the index beforehand how far it will go.
 * 2. SQLite only appends to the `-wal`, or begins a new round, and enters both into the index.
 *
 * Every other change is one that SQLite does not know of. From then on `wasOverwritten` is true until the process ends.
 *
 * Some changes are not noticed:
 *
 * - one that begins and ends during a checkpoint of this thread, and leaves the size of the file as it was;
 * - before Linux 6.13, one of the same size within 10 ms after a write of this thread: file times move in such steps;
 * - one in the middle of the `-wal`, before its last frame, or behind it;
 * - one of the database file, if a process begins a new round of the log before this thread looks again.
 */

import { realpathSync, type Stats, statSync } from 'node:fs';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { type LogIndex, openedLog } from './log-index.ts';

export interface OverwrittenFile {
  /** Called before an answer leaves, and before a write. @throws StorageUnavailable if a file was overwritten */
  refuse(): void;
  /** Called after each commit, before its answers leave. @throws StorageUnavailable like `refuse` */
  committed(): void;
  /** Runs a checkpoint, which writes to the file. If a file was overwritten, it does not run. */
  checkpoint(run: () => void): void;
  wasOverwritten(): boolean;
  /** Called once SQLite has closed the file. */
  close(): void;
}

interface Remembered {
  readonly file: string;
  readonly log: string;
  readonly index: LogIndex;
}

/** A foreign process may begin a new round of the log while it is compared with the index. */
const COMPARED_AT_MOST = 5;

/**
 * @param path of a database in write-ahead mode that was read once, so that its log exists
 * @param flag kept when the thread dies: 1 once the file was overwritten
 */
export function overwrittenFile(path: string, flag: Float64Array): OverwrittenFile {
  const log = openedLog(realpathSync(path));
  // The index is read first, as in `look`: a foreign checkpoint may run while the file is opened.
  const openedIndex = log.index();
  const opened = statSync(path);
  let remembered: Remembered = { index: openedIndex, file: stampOf(opened), log: log.stamp() };
  let isOverwritten = flag[0] === 1;

  /** Reads the index first: a foreign checkpoint may go on, and `isMovedInto` then still expects its writes. */
  function look(): Remembered {
    const index = log.index();
    return { index, file: fileStamp(), log: log.stamp() };
  }

  /** Size and time of the last change. If the path names another file, `opened-file.ts` notices. */
  function fileStamp(): string {
    const found = statSync(path, { throwIfNoEntry: false });
    return found?.ino === opened.ino && found.dev === opened.dev ? stampOf(found) : remembered.file;
  }

  function note(): void {
    isOverwritten = true;
    flag[0] = 1;
  }

  function throwIfNoted(): void {
    if (isOverwritten) throw new StorageUnavailable('Something other than SQLite wrote to the SQLite file or its log');
  }

  function judge(): void {
    const now = look();
    // The index again: a foreign checkpoint may have begun since it was read.
    if (now.file !== remembered.file && !isMovedInto(remembered.index, log.index())) note();
    if (now.log !== remembered.log && !isLogOf(now.index)) note();
    remembered = now;
  }

  function isLogOf(index: LogIndex): boolean {
    let current = index;
    for (let times = 0; times < COMPARED_AT_MOST; times++) {
      if (log.fits(current)) return true;
      const next = log.index();
      if (isSameLog(current, next)) return false;
      current = next;
    }
    return true;
  }

  return {
    refuse() {
      throwIfNoted();
      const { index } = remembered;
      const isSettled = index.moved === index.attempted;
      if (isSettled && fileStamp() === remembered.file && log.stamp() === remembered.log) return;
      judge();
      throwIfNoted();
    },
    committed() {
      judge();
      throwIfNoted();
    },
    checkpoint(run) {
      judge();
      if (isOverwritten) return;
      run();
      remembered = look();
      const { index } = remembered;
      // SQLite cuts the file to the size of the database once it has moved the whole log.
      const isWhole = index.frames > 0 && index.moved === index.frames;
      if (isWhole && !remembered.file.startsWith(`${index.size} `) && isSameLog(index, log.index())) note();
    },
    wasOverwritten: () => isOverwritten,
    close: log.close,
  };
}

/**
 * Whether a checkpoint may have written to the file between two looks at the index. A new round begins once the whole log is
 * in the file, and the log may have grown since the first look.
 */
function isMovedInto(before: LogIndex, after: LogIndex): boolean {
  return after.attempted > before.moved || !before.salts.equals(after.salts);
}

function isSameLog(one: LogIndex, other: LogIndex): boolean {
  return one.salts.equals(other.salts) && one.frames === other.frames;
}

/** A change of the permissions changes none of these. */
function stampOf({ size, mtimeMs }: Stats): string {
  return `${size} ${mtimeMs}`;
}
