/**
 * Stores exports in a directory (specification "Ledger and seal"). An export is written under a temporary name, synced to
 * disk, and then linked to its final name. Linking fails if that file exists; renaming would overwrite it.
 */

import { createHash } from 'node:crypto';
import { constants, createReadStream, createWriteStream } from 'node:fs';
import { access, link, lstat, readdir, rm, stat } from 'node:fs/promises';
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
  type StoredExport,
} from '../../application/ports/exports.ts';
import type { Month } from '../../domain/ledger/time-range.ts';
import { syncFolder } from './sync-folder.ts';

/** The suffix of an export's file name until the export is verified. */
const DRAFT_SUFFIX = '.partial';
const DRAFT = /^audit-\d{4}-\d{2}\.service-archive\.gz\.partial$/;
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
          if (DRAFT.test(name)) await rm(join(folder, name), { force: true });
        }
      }),

    async find(month) {
      const location = locationOf(month);
      return (await isThere(location)) ? storedExport(location) : undefined;
    },

    async draft(month, lines) {
      const location = locationOf(month);
      const temporary = `${location}${DRAFT_SUFFIX}`;
      try {
        await write(temporary, lines);
      } catch (error) {
        await rm(temporary, { force: true });
        throw asUnusable(temporary, error);
      }
      return draftExport(folder, temporary, location);
    },

    withdraw: ({ location }) =>
      unusable(location, async () => {
        await rm(location);
        await syncFolder(folder);
      }),
  };
}

function draftExport(folder: string, temporary: string, location: string): DraftExport {
  return {
    ...storedExport(temporary),
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
        await rm(temporary);
        await syncFolder(folder);
      });
      return { kind: 'published', stored: storedExport(location) };
    },
    discard: () => unusable(temporary, () => rm(temporary)),
  };
}

async function write(location: string, lines: Lines): Promise<void> {
  // `flush` syncs the file to disk before it is closed.
  const file = createWriteStream(location, { flags: 'wx', mode: OWNER_ONLY, flush: true });
  await pipeline(Readable.from(asText(lines)), createGzip(), file);
}

async function* asText(lines: Lines): AsyncIterable<string> {
  for await (const batch of lines) {
    if (batch.length > 0) yield `${batch.join('\n')}\n`;
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
  return {
    location,
    lines: () => readLines(location),
    sha256: () =>
      unusable(location, async () => {
        const hash = createHash('sha256');
        for await (const chunk of createReadStream(location, { highWaterMark: CHUNK })) hash.update(chunk);
        return hash.digest('hex');
      }),
  };
}

async function* readLines(location: string): Lines {
  const size = await unusable(location, async () => (await stat(location)).size);
  const gunzip = createGunzip({ chunkSize: CHUNK });
  const file = createReadStream(location, { highWaterMark: CHUNK });
  // Errors reach the reader of the lines through `gunzip`.
  pipeline(file, gunzip).catch(() => undefined);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      const lines = (rest + decode(decoder, chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE_CHARACTERS) throw new ExportDamaged('line_too_long');
      yield lines;
    }
    decode(decoder);
  } catch (error) {
    throw asDamaged(location, error);
  }
  if (rest !== '') throw new ExportDamaged('cut_off');
  // The decompressor ignores bytes after the compressed text.
  if (gunzip.bytesWritten !== size) throw new ExportDamaged('followed_by_more');
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new ExportDamaged('not_utf8', { cause });
  }
}

/** The zlib error code for truncated text. Any other code means that the file is not gzip. */
const CUT_OFF = 'Z_BUF_ERROR';

function asDamaged(location: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!code.startsWith('Z_')) return asUnusable(location, error);
  const damage: ExportDamage = code === CUT_OFF ? 'cut_off' : 'not_gzip';
  return new ExportDamaged(damage, { cause: error });
}
