/** Reads an export as a stream: a month may have gigabytes, and the file may have any content. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ExportDamage, ExportDamaged, type Lines, type StoredExport } from '../../application/ports/exports.ts';
import { asUnusable, unusable } from './file-fault.ts';

/** Bounds the memory for a line. A record's fields are bounded, so its line is much shorter. */
const MAX_LINE_CHARACTERS = 1_048_576;
/** The size of one read, in bytes. */
const CHUNK = 262_144;

/** @param path a missing file is an error of the first read */
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
  // Every error reaches the reader through the last stream. `pipeline` requires a callback.
  pipeline(file, gunzip, () => undefined);
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
  // The decompressor silently ignores bytes after the compressed text.
  if (gunzip.bytesWritten !== size) throw new ExportDamaged('followed_by_more');
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new ExportDamaged('not_utf8', { cause });
  }
}

/** The zlib error code for truncated text; every other code means that the file is not gzip. */
const CUT_OFF = 'Z_BUF_ERROR';

function asDamaged(location: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!code.startsWith('Z_')) return asUnusable(location, error);
  const damage: ExportDamage = code === CUT_OFF ? 'cut_off' : 'not_gzip';
  return new ExportDamaged(damage, { cause: error });
}
