/**
 * Stores exports in a directory (specification "Ledger and seal"). An export is written under a random temporary name,
 * synced to disk, and then linked to its final name. Linking fails if that file exists; renaming would overwrite it.
 *
 * Two runs may use one directory: for two databases, or after one lost its database lock. So a run reads a file that it
 * verifies through one open handle, and compares the file behind a name with that handle.
 */

import { createHash, randomBytes } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, type FileHandle, link, lstat, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import {
  type DraftExport,
  type ExportDamage,
  ExportDamaged,
  type ExportFolder,
  type ExportProblem,
  ExportUnusable,
  type Lines,
  type OpenExport,
  type StoredExport,
} from '../../application/ports/exports.ts';
import type { Month } from '../../domain/ledger/time-range.ts';
import { utf8Reader } from '../../domain/tokens/strict-utf8.ts';
import { syncFolder } from './sync-folder.ts';

/** The suffix of an export's file name until the export is verified. */
const DRAFT_SUFFIX = '.partial';
const DRAFT = /^audit-\d{4}-\d{2}\.service-archive\.gz\.(?:[0-9a-f]{16}\.)?partial$/;
/** A draft is verified within hours of its last write. An older one was left by an interrupted run. */
const DRAFT_ABANDONED_MS = 24 * 60 * 60 * 1000;
/** Exports contain personal data. Only the operator who archives may read them. */
const OWNER_ONLY = 0o600;

export function exportFolder(path: string): ExportFolder {
  const folder = resolve(path);
  const locationOf = (month: Month) => join(folder, `audit-${month}.service-archive.gz`);

  return {
    prepare: () =>
      unusable(folder, async () => {
        if (!(await stat(folder)).isDirectory()) throw new ExportUnusable('not_a_directory', folder);
        await access(folder, constants.W_OK | constants.X_OK);
        for (const name of await readdir(folder)) {
          if (DRAFT.test(name) && (await isAbandoned(join(folder, name))))
            await rm(join(folder, name), { force: true });
        }
      }),

    async find(month) {
      const location = locationOf(month);
      if (!(await isThere(location))) return undefined;
      return openExport(location, await unusable(location, () => open(location, 'r')));
    },

    async draft(month, lines) {
      const location = locationOf(month);
      const temporary = `${location}.${randomBytes(8).toString('hex')}${DRAFT_SUFFIX}`;
      const file = await unusable(temporary, () => open(temporary, 'wx+', OWNER_ONLY));
      try {
        await write(file, lines);
      } catch (error) {
        await file.close();
        await rm(temporary, { force: true });
        throw asUnusable(temporary, error);
      }
      return draftExport(folder, { file, temporary, location });
    },

    withdraw: ({ location }) =>
      unusable(location, async () => {
        await rm(location);
        await syncFolder(folder);
      }),
  };
}

interface WrittenDraft {
  readonly file: FileHandle;
  readonly temporary: string;
  readonly location: string;
}

function draftExport(folder: string, { file, temporary, location }: WrittenDraft): DraftExport {
  return {
    ...openExport(temporary, file),
    async publish() {
      try {
        await link(temporary, location);
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return { kind: 'taken', location };
        throw asUnusable(location, error, {
          EPERM: 'no_hard_links',
          ENOTSUP: 'no_hard_links',
          ENOSYS: 'no_hard_links',
        });
      }
      await unusable(location, async () => {
        if (!(await leadsTo(location, file))) {
          // This run made the link, so no other file loses its name.
          await rm(location);
          throw new ExportUnusable('replaced', temporary);
        }
        await rm(temporary);
        await syncFolder(folder);
      });
      return { kind: 'published', stored: openExport(location, file) };
    },
    discard: () => unusable(temporary, () => rm(temporary)),
  };
}

async function write(file: FileHandle, lines: Lines): Promise<void> {
  await pipeline(Readable.from(asText(lines)), createGzip(), (compressed) => writeFile(file, compressed));
  await file.sync();
}

async function* asText(lines: Lines): AsyncIterable<string> {
  for await (const batch of lines) {
    if (batch.length > 0) yield `${batch.join('\n')}\n`;
  }
}

/** Whether this name, after links, leads to the open file. */
async function leadsTo(location: string, file: FileHandle): Promise<boolean> {
  const [named, held] = [await stat(location, { bigint: true }), await file.stat({ bigint: true })];
  return named.dev === held.dev && named.ino === held.ino;
}

/** Another run may remove the draft, or give it its final name, at the same time. */
async function isAbandoned(location: string): Promise<boolean> {
  try {
    return Date.now() - (await lstat(location)).mtimeMs > DRAFT_ABANDONED_MS;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Whether anything has this name: a directory or a dangling link occupies it too. */
async function isThere(location: string): Promise<boolean> {
  try {
    await lstat(location);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw asUnusable(location, error);
  }
}

const PROBLEMS: Readonly<Record<string, ExportProblem>> = {
  ENOENT: 'missing',
  ENOTDIR: 'not_a_directory',
  EACCES: 'not_permitted',
  EPERM: 'not_permitted',
  EROFS: 'not_permitted',
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  // The file would exceed a size limit.
  EFBIG: 'disk_full',
};

/** The operating system's error code. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined;
}

/** Converts a file system error to the port's error. Returns any other error unchanged. */
function asUnusable(location: string, error: unknown, meaning: Readonly<Record<string, ExportProblem>> = {}): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  return new ExportUnusable(meaning[code] ?? PROBLEMS[code] ?? 'failed', location, { cause: error });
}

async function unusable<Answer>(location: string, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    throw asUnusable(location, error);
  }
}

/** Limits the memory for a line. A record's fields are limited, so the line of a record is much shorter. */
const MAX_LINE_CHARACTERS = 1_048_576;
/** The size of one read, in bytes. */
const CHUNK = 262_144;

/**
 * Reads an export as a stream, because a month may have gigabytes. The file may have any content.
 * @param path if the file is missing, the first read throws
 */
export function storedExport(path: string): StoredExport {
  const location = resolve(path);
  return readExport(location, {
    size: async () => (await stat(location)).size,
    chunks: () => createReadStream(location, { highWaterMark: CHUNK }),
  });
}

function openExport(location: string, file: FileHandle): OpenExport {
  const { lines, sha256 } = readExport(location, {
    size: async () => (await file.stat()).size,
    chunks: () => Readable.from(chunksOf(file), { objectMode: false, highWaterMark: CHUNK }),
  });
  return {
    location,
    lines,
    async sha256() {
      const hash = await sha256();
      const isSame = await unusable(location, () => leadsTo(location, file));
      if (!isSame) throw new ExportUnusable('replaced', location);
      return hash;
    },
    close: () => unusable(location, () => file.close()),
  };
}

/** Reads from the start, without the handle's own position: several readers use one handle. */
async function* chunksOf(file: FileHandle): AsyncIterable<Uint8Array> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK), 0, CHUNK, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

interface Bytes {
  size(): Promise<number>;
  /** Each call reads from the start. */
  chunks(): Readable;
}

function readExport(location: string, bytes: Bytes): StoredExport {
  return {
    location,
    lines: () => readLines(location, bytes),
    sha256: () =>
      unusable(location, async () => {
        const hash = createHash('sha256');
        for await (const chunk of bytes.chunks()) hash.update(chunk);
        return hash.digest('hex');
      }),
  };
}

async function* readLines(location: string, bytes: Bytes): Lines {
  const size = await unusable(location, bytes.size);
  const gunzip = createGunzip({ chunkSize: CHUNK });
  // Errors reach the reader of the lines through `gunzip`.
  pipeline(bytes.chunks(), gunzip).catch(() => undefined);
  const read = utf8Reader();
  const decode = (chunk?: Uint8Array): string => {
    const text = read(chunk);
    if (text === undefined) throw new ExportDamaged('not_utf8');
    return text;
  };
  let rest = '';
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      const lines = (rest + decode(chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_CHARACTERS) throw new ExportDamaged('line_too_long');
      yield lines;
    }
    decode();
  } catch (error) {
    throw asDamaged(location, error);
  }
  if (rest !== '') throw new ExportDamaged('cut_off');
  // The decompressor ignores bytes after the compressed text.
  if (gunzip.bytesWritten !== size) throw new ExportDamaged('followed_by_more');
}

/** The zlib error code for truncated text. Any other code means that the file is not gzip. */
const CUT_OFF = 'Z_BUF_ERROR';

function asDamaged(location: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!code.startsWith('Z_')) return asUnusable(location, error);
  const damage: ExportDamage = code === CUT_OFF ? 'cut_off' : 'not_gzip';
  return new ExportDamaged(damage, { cause: error });
}
