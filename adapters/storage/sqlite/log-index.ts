/**
 * Reads what SQLite itself knows of its write-ahead log: the header of the `-wal`, and the first bytes of the `-shm`. Every SQLite
 * process updates these bytes with each commit and each checkpoint. Only fields of the published format are read
 * (https://sqlite.org/walformat.html, https://sqlite.org/fileformat2.html#walformat).
 *
 * SQLite's locks are locks of the process on the `-shm`. The system drops all of them when the process closes any descriptor of
 * that file. So the descriptor is closed only once SQLite has removed the `-shm`.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

export interface LogIndex {
  /** The salts of the log's header. They differ from one round to the next: SQLite begins to write the log from its start. */
  readonly salts: Buffer;
  /** The number of frames in the log, each with one page. */
  readonly frames: number;
  /** The number of frames whose pages are in the database file. */
  readonly moved: number;
  /** Up to here a checkpoint has begun to move frames into the file. */
  readonly attempted: number;
  /** Bytes of a page, and of the whole database. */
  readonly pageSize: number;
  readonly size: number;
}

const PAGE_SIZE_AT = 14;
const FRAMES_AT = 16;
const PAGES_AT = 20;
const SALTS_AT = 32;
const MOVED_AT = 96;
const ATTEMPTED_AT = 128;
const INDEX_BYTES = 132;

const LOG_HEADER_BYTES = 32;
const LOG_PAGE_SIZE_AT = 8;
const LOG_SALTS_AT = 16;
const LOG_CHECKSUM_AT = 24;
/** The first bytes of a log. The lowest bit of the number says in which byte order its checksums are computed. */
const LOG_BEGINS = [0x377f0682, 0x377f0683];
const LOG_VERSION = 3_007_000;
const FRAME_HEADER_BYTES = 24;
const FRAME_SALTS_AT = 8;
const SALTS_BYTES = 8;

const isLittle = endianness() === 'LE';

interface OpenedLog {
  index(): LogIndex;
  /** Size and time of the last change of the `-wal`. */
  stamp(): string;
  /** Whether the `-wal` is the log that the index describes: its header, its length and the salts of its last frame. */
  fits(index: LogIndex): boolean;
  /** Called once SQLite has closed its own descriptors. */
  close(): void;
}

/** @param path of a database in write-ahead mode that was read once, so that both files exist */
export function openedLog(path: string): OpenedLog {
  const shared = openSync(`${path}-shm`, 'r');
  const log = openSync(`${path}-wal`, 'r');
  let isOpen = true;
  const bytes = Buffer.alloc(INDEX_BYTES);
  const head = Buffer.alloc(LOG_HEADER_BYTES);
  const salts = Buffer.alloc(SALTS_BYTES);
  const hasHead = (index: LogIndex) =>
    readSync(log, head, 0, LOG_HEADER_BYTES, 0) === LOG_HEADER_BYTES && isHeadOf(index, head);
  const hasSalts = (at: number, index: LogIndex) =>
    readSync(log, salts, 0, SALTS_BYTES, at) === SALTS_BYTES && salts.equals(index.salts);
  return {
    index() {
      readSync(shared, bytes, 0, INDEX_BYTES, 0);
      // A size of 65,536 does not fit into two bytes, and is stored as 1.
      const stored = isLittle ? bytes.readUInt16LE(PAGE_SIZE_AT) : bytes.readUInt16BE(PAGE_SIZE_AT);
      const pageSize = stored === 1 ? 65_536 : stored;
      return {
        salts: Buffer.from(bytes.subarray(SALTS_AT, SALTS_AT + SALTS_BYTES)),
        frames: numberAt(bytes, FRAMES_AT),
        moved: numberAt(bytes, MOVED_AT),
        attempted: numberAt(bytes, ATTEMPTED_AT),
        pageSize,
        size: numberAt(bytes, PAGES_AT) * pageSize,
      };
    },
    stamp() {
      const { size, mtimeMs } = fstatSync(log);
      return `${size} ${mtimeMs}`;
    },
    fits(index) {
      if (index.frames === 0) return true;
      const lastFrame = LOG_HEADER_BYTES + (index.frames - 1) * (FRAME_HEADER_BYTES + index.pageSize);
      return (
        hasHead(index) &&
        hasSalts(lastFrame + FRAME_SALTS_AT, index) &&
        fstatSync(log).size >= lastFrame + FRAME_HEADER_BYTES + index.pageSize
      );
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      closeSync(log);
      if (fstatSync(shared).nlink === 0) closeSync(shared);
    },
  };
}

/** SQLite passes over a log whose head is another one, and so loses it, if the process or the machine dies. */
function isHeadOf({ pageSize, salts }: LogIndex, head: Buffer): boolean {
  const [one, other] = checksumOf(head, LOG_CHECKSUM_AT);
  return (
    LOG_BEGINS.includes(head.readUInt32BE(0)) &&
    head.readUInt32BE(4) === LOG_VERSION &&
    head.readUInt32BE(LOG_PAGE_SIZE_AT) === pageSize &&
    salts.equals(head.subarray(LOG_SALTS_AT, LOG_SALTS_AT + SALTS_BYTES)) &&
    head.readUInt32BE(LOG_CHECKSUM_AT) === one &&
    head.readUInt32BE(LOG_CHECKSUM_AT + 4) === other
  );
}

/** The checksum of the format over the first bytes of a log. */
function checksumOf(head: Buffer, bytes: number): readonly [number, number] {
  const isBig = (head.readUInt32BE(0) & 1) === 1;
  const word = (at: number) => (isBig ? head.readUInt32BE(at) : head.readUInt32LE(at));
  let [one, other] = [0, 0];
  for (let at = 0; at < bytes; at += 8) {
    one = (one + word(at) + other) >>> 0;
    other = (other + word(at + 4) + one) >>> 0;
  }
  return [one, other];
}

function numberAt(bytes: Buffer, at: number): number {
  return isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
}
