/** `mandate after-restore`: repairs a ledger whose database went back in time. */

import { textValue, value } from '../../adapters/cli/argument.ts';
import { type Command, command, counted } from '../../adapters/cli/command.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import type { SinkComparison } from '../../application/ledger/compare-sink.ts';
import { compareSink } from '../../application/ledger/compare-sink.ts';
import { describeUsedTwice } from '../../application/ports/storage.ts';
import { laterOf } from '../../domain/clocks.ts';
import { type Instant, toMillisecondText } from '../../domain/instant.ts';
import { readSinkLine, type SinkRecord } from '../../domain/ledger/lost-records.ts';
import { readUtf8 } from '../../domain/tokens/strict-utf8.ts';
import { visibleText } from '../../domain/visible.ts';
import { refuseUnusableConnection } from '../database-refusals.ts';
import { openStorage, refuseMissingFile } from '../open-storage.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import { StartupError } from '../settings/startup-error.ts';
import { archivedPartOf, bytesOf, refuseOtherSchema } from './audit-sources.ts';
import { processSettings, runReport, validSection } from './run-command.ts';

interface RestoreCommandRequest {
  /** `undefined`: only the numbers in the database and in `sink` count. */
  readonly above: number | undefined;
  /** A file with the records that the sink received. */
  readonly sink: string | undefined;
}

export function afterRestoreCommand(): Command {
  return command({
    examples: [
      { line: 'after-restore --above 4712000', meaning: 'The sink, or an export, has a record with this number' },
      {
        line: 'after-restore --sink received.jsonl',
        meaning: 'Reads the numbers there, and lists the blocks and ends that the database has lost',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the ledger moved on, and assertions issued until now are refused',
      [exitCode.failed]: 'nothing was changed: a file or setting is wrong, or the database did not take the change',
    },
    options: (parser) =>
      parser
        .option('above', {
          ...value('--above', readNumber),
          describe: 'The highest number of a record that is known from outside the database',
        })
        .option('sink', {
          ...textValue('--sink'),
          describe: 'A file of the records that the sink received, one JSON record or {"records": [...]} a line',
        }),
    run: ({ above, sink }, settings) => afterRestore({ above, sink }, settings),
  });
}

function readNumber(text: string): number {
  const number = Number(text);
  if (!/^\d{1,20}$/.test(text)) throw new Error('--above takes the number of a record, as in 4712000.');
  if (!Number.isSafeInteger(number))
    throw new Error('--above is beyond 2^53 - 1, and no record can have such a number.');
  return number;
}

interface RestoreReport {
  readonly from: number;
  readonly to: number;
  readonly latest: Instant;
  readonly sink: SinkComparison | undefined;
  readonly isLogOn: boolean;
}

/** The report: the steps that were done, and those that remain for the operator, in order. */
function renderRestore({ from, to, latest, sink, isLogOn }: RestoreReport): string {
  const lines = [
    `The last number in the ledger was ${from}. The next record after this command has a number above ${to + 1}.`,
    `Assertions issued until ${toMillisecondText(latest)}, and in the minute after, are refused as replayed.`,
    'Approvals that were granted and not used are over: the people are asked again.',
    'Requests at /oauth2/authorize, and codes that were not redeemed, are void: the people begin again.',
    '',
    'Compare, in this order:',
    '1. Each mark that an auditor kept: mandate audit-verify MARK. A mark from before the backup must hold.',
    isLogOn
      ? '2. The newest note of the log that was published: a larger tree than GET /log/checkpoint is lost history.'
      : '2. The log is off: there is no published note to compare.',
    `3. The newest number in the sink${sink === undefined ? '' : `, ${sink.newest},`} with ${from}: records above are lost.`,
    '4. Single tokens revoked since the backup are valid again until they expire: end their tasks.',
    '5. People who signed out since the backup: their tasks go on. End them, or block the person.',
  ];
  return `${[...lines, ...(sink === undefined ? WITHOUT_SINK : sinkLines(sink))].join('\n')}\n`;
}

const WITHOUT_SINK = ['', 'With --sink FILE this command lists the blocks and ends that the database has lost.'];

function sinkLines({ lost, repetitions, contradicted }: SinkComparison): readonly string[] {
  return [
    '',
    `The sink has ${counted(lost, 'record')} that the database does not have.`,
    ...contradicted.map((seq) => `Number ${seq} has another record in the database than in the sink.`),
    ...(repetitions.length === 0 ? [] : ['Repeat, in this order:']),
    ...repetitions.map(({ seq, event, request }) => `  ${seq} ${event}: ${visibleText(request)}`),
  ];
}

/** A longer line is no delivery: a body has at most a few hundred records. */
const MAX_LINE_BYTES = 4_194_304;
const LINE_END = 0x0a;

/** Makes a database that went back in time safe to serve (docs/operating.md). */
export async function afterRestore(
  request: RestoreCommandRequest,
  overrides: readonly SettingArgument[],
): Promise<number> {
  return runReport(async (log) => {
    const given = processSettings(overrides);
    const settings = validSection(given, 'Service:Database');
    const chosen = databaseChoice(settings);
    if (chosen.provider === 'postgres') await refuseUnusableConnection(chosen, 'owner');
    refuseMissingFile(settings);
    const clock = systemClock();
    const storage = await openStorage(settings, { clock, log });
    try {
      refuseOtherSchema(await storage.schemaStatus());
      // A wrong file is refused before anything is changed.
      const sink =
        request.sink === undefined
          ? undefined
          : await compareSink(recordsIn(request.sink), storage.checkpoints, await archivedPartOf(storage, given));
      const at = clock.now();
      const latest = storage.databaseTime === undefined ? at : laterOf(at, await storage.databaseTime());
      const above = Math.max(request.above ?? 0, sink?.newest ?? 0);
      const outcome = await storage.afterRestore({ at, latest, above });
      if (outcome.kind === 'beyond') throw new StartupError([BEYOND]);
      if (outcome.kind === 'used_twice') {
        throw new StartupError([`${describeUsedTwice(outcome.twice)} Nothing was changed.`]);
      }
      const isLogOn = (await storage.transparencyLog.state()) !== undefined;
      process.stdout.write(renderRestore({ ...outcome, latest, sink, isLogOn }));
      return exitCode.done;
    } finally {
      await storage.close();
    }
  }, 'migrating');
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
    const line = readUtf8(bytes);
    if (line === undefined) throw refuse('is not UTF-8');
    const records = readSinkLine(line);
    if (typeof records === 'string') throw refuse(records);
    yield* records;
  }
}

/** The lines of a file, without their ends. `undefined` for one that is too long: it is the last. */
async function* linesIn(path: string): AsyncGenerator<Uint8Array | undefined> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytesOf(path, '--sink')) {
    let rest = chunk;
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
