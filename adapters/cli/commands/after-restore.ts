import type { SinkComparison } from '../../../application/ledger/compare-sink.ts';
import { type Instant, toMillisecondText } from '../../../domain/instant.ts';
import { visibleText } from '../../../domain/visible.ts';
import { once } from '../argument.ts';
import { type Command, command, counted, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

export interface RestoreCommandRequest {
  /** `undefined`: only the numbers in the database and in `sink` count. */
  readonly above: number | undefined;
  /** A file with the records that the sink received. */
  readonly sink: string | undefined;
}

/** @param run changes the database, reports, and resolves with the exit code */
export function afterRestoreCommand(
  run: (request: RestoreCommandRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'after-restore',
    summary: 'After a restored backup or a failover that lost commits: move the ledger on, refuse earlier assertions',
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
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('above', {
          type: 'string',
          describe: 'The highest number of a record that is known from outside the database',
          coerce: once('--above', readNumber),
        })
        .option('sink', {
          type: 'string',
          describe: 'A file of the records that the sink received, one JSON record or {"records": [...]} a line',
          coerce: once('--sink', (path) => path),
        }),
    run: ({ above, sink }, settings) => run({ above, sink }, settings),
  });
}

function readNumber(text: string): number {
  const number = Number(text);
  if (!/^\d{1,20}$/.test(text)) throw new Error('--above takes the number of a record, as in 4712000.');
  if (!Number.isSafeInteger(number))
    throw new Error('--above is beyond 2^53 - 1, and no record can have such a number.');
  return number;
}

export interface RestoreReport {
  readonly from: number;
  readonly to: number;
  readonly latest: Instant;
  readonly sink: SinkComparison | undefined;
  readonly isLogOn: boolean;
}

/** What was done, what to compare in which order, and what to repeat. */
export function renderRestore({ from, to, latest, sink, isLogOn }: RestoreReport): string {
  const lines = [
    `The last number in the ledger was ${from}. The next record after this command has a number above ${to + 1}.`,
    `Assertions issued until ${toMillisecondText(latest)}, and in the minute after, are refused as replayed.`,
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
