/**
 * Exports in a directory (specification "Ledger and seal"). Each is written under a temporary name, made durable, and
 * then linked to its final name. Linking fails if that file exists; renaming would overwrite it.
 */

import { constants, createWriteStream } from 'node:fs';
import { access, link, lstat, open, readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type DraftExport, type ExportFolder, ExportUnusable, type Lines } from '../../application/ports/exports.ts';
import type { Month } from '../../domain/ledger/month.ts';
import { asUnusable, codeOf, unusable } from './file-fault.ts';
import { storedExport } from './stored-export.ts';

/** The suffix of an export's name until the export is verified. */
const DRAFT_SUFFIX = '.partial';
const DRAFT = /^audit-\d{4}-\d{2}\.service-archive\.gz\.partial$/;
/** Exports contain personal data: only the operator who archives may read them, and pass them on. */
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
        await settle(folder);
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
        await settle(folder);
      });
      return { kind: 'published', stored: storedExport(location) };
    },
    discard: () => unusable(temporary, () => rm(temporary)),
  };
}

async function write(location: string, lines: Lines): Promise<void> {
  // Flushed to the disk before it is closed.
  const file = createWriteStream(location, { flags: 'wx', mode: OWNER_ONLY, flush: true });
  await pipeline(Readable.from(asText(lines)), createGzip(), file);
}

async function* asText(lines: Lines): AsyncIterable<string> {
  for await (const batch of lines) {
    if (batch.length > 0) yield `${batch.join('\n')}\n`;
  }
}

/** A new name in a directory survives a power failure only after a sync of the directory. */
async function settle(folder: string): Promise<void> {
  const directory = await open(folder, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Of any type: a directory or a dangling link occupies the name too. */
async function isThere(location: string): Promise<boolean> {
  try {
    await lstat(location);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw asUnusable(location, error);
  }
}
