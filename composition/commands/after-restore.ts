import { createReadStream } from 'node:fs';
import { exitCode } from '../../adapters/cli/command.ts';
import { type RestoreCommandRequest, renderRestore } from '../../adapters/cli/commands/after-restore.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { compareSink } from '../../application/ledger/compare-sink.ts';
import { laterOf } from '../../domain/clocks.ts';
import { readSinkLine, type SinkRecord } from '../../domain/ledger/lost-records.ts';
import { refuseUnusableConnection } from '../database-refusals.ts';
import { openStorage, refuseMissingFile } from '../open-storage.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import { StartupError } from '../startup-error.ts';
import { refuseOtherSchema } from './audit-sources.ts';
import { processSettings, runReport, validSection } from './run-command.ts';

/** A longer line is no delivery: a body has at most a few hundred records. */
const MAX_LINE_BYTES = 4_194_304;
const LINE_END = 0x0a;

/** Makes a database that went back in time safe to serve (docs/operating.md). */
export async function afterRestore(
  request: RestoreCommandRequest,
  overrides: readonly SettingArgument[],
): Promise<number> {
  return runReport(async (log) => {
    const settings = validSection(processSettings(overrides), 'Service:Database');
    const chosen = databaseChoice(settings);
    if (chosen.provider === 'postgres') await refuseUnusableConnection(chosen, 'owner');
    refuseMissingFile(settings);
    const clock = systemClock();
    const storage = await openStorage(settings, { clock, log });
    try {
      refuseOtherSchema(await storage.schemaStatus());
      // A wrong file is refused before anything is changed.
      const sink =
        request.sink === undefined ? undefined : await compareSink(recordsIn(request.sink), storage.checkpoints);
      const at = clock.now();
      const latest = storage.databaseTime === undefined ? at : laterOf(at, await storage.databaseTime());
      const above = Math.max(request.above ?? 0, sink?.newest ?? 0);
      const outcome = await storage.afterRestore({ at, latest, above });
      if (outcome.kind === 'beyond') throw new StartupError([BEYOND]);
      const isLogOn = (await storage.transparencyLog.state()) !== undefined;
      process.stdout.write(renderRestore({ ...outcome, latest, sink, isLogOn }));
      return exitCode.done;
    } finally {
      await storage.close();
    }
  });
}

const BEYOND =
  'The number of --above, or the highest one in the file of --sink, is more than 10^12 above the ledger, or a million further is beyond 2^53 - 1: nothing was changed.';

/** @throws StartupError with the number of the line */
async function* recordsIn(path: string): AsyncGenerator<SinkRecord> {
  let number = 0;
  for await (const bytes of linesIn(path)) {
    number += 1;
    const refuse = (problem: string) => new StartupError([`--sink: line ${number} ${problem}.`]);
    if (bytes === undefined) throw refuse(`is longer than ${MAX_LINE_BYTES} bytes`);
    if (bytes.length === 0) continue;
    let line: string;
    try {
      line = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw refuse('is not UTF-8');
    }
    const records = readSinkLine(line);
    if (typeof records === 'string') throw refuse(records);
    yield* records;
  }
}

/** The lines of a file, without their ends. `undefined` for one that is too long: it is the last. */
async function* linesIn(path: string): AsyncGenerator<Uint8Array | undefined> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  const stream: AsyncIterable<Uint8Array> = createReadStream(path);
  const chunks = stream[Symbol.asyncIterator]();
  for (;;) {
    const read = await chunks.next().catch(() => {
      throw new StartupError(['--sink names a file that cannot be read.']);
    });
    if (read.done === true) break;
    let rest = read.value;
    for (let end = rest.indexOf(LINE_END); end >= 0; end = rest.indexOf(LINE_END)) {
      if (size + end > MAX_LINE_BYTES) return yield undefined;
      yield Buffer.concat([...pieces, rest.subarray(0, end)]);
      [pieces, size, rest] = [[], 0, rest.subarray(end + 1)];
    }
    pieces.push(rest);
    size += rest.length;
    if (size > MAX_LINE_BYTES) return yield undefined;
  }
  yield Buffer.concat(pieces);
}
