/** Reads an export as a stream: a month may be gigabytes, and a file may be anything. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type ExportDamage, ExportDamaged, type Lines, type StoredExport } from '../../application/ports/exports.ts';
import { asUnusable, unusable } from './file-fault.ts';

/** A record's fields are bounded, so that its line stays far below: nothing longer is held in memory. */
const MAX_LINE_CHARACTERS = 1_048_576;
/** Bytes read at once. */
const CHUNK = 262_144;

/** @param path whether anything is there shows when it is read */
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
  // Each error reaches whoever reads, through the last stream; the callback is there because it must be.
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
  // Bytes after the compressed text are passed over in silence by the decompressor.
  if (gunzip.bytesWritten !== size) throw new ExportDamaged('followed_by_more');
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (cause) {
    throw new ExportDamaged('not_utf8', { cause });
  }
}

/** What zlib says of a text that ends too soon; everything else it says is of one that is not gzip. */
const CUT_OFF = 'Z_BUF_ERROR';

function asDamaged(location: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!code.startsWith('Z_')) return asUnusable(location, error);
  const damage: ExportDamage = code === CUT_OFF ? 'cut_off' : 'not_gzip';
  return new ExportDamaged(damage, { cause: error });
}
