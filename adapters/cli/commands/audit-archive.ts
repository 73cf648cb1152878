import type { ArchivedMonth } from '../../../application/ledger/archive.ts';
import { type Month, parseMonth } from '../../../domain/ledger/time-range.ts';
import { flag, type KeySource, once, readKeySource } from '../argument.ts';
import { type Command, command, counted, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

export interface ArchiveRequest {
  /** `undefined` if the setting Service:Audit:Retention decides. */
  readonly before: Month | undefined;
  readonly directory: string;
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  readonly json: boolean;
}

/** @param run archives, reports each month, and resolves with the exit code */
export function auditArchiveCommand(
  run: (request: ArchiveRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'audit-archive',
    summary: 'Export whole months of the ledger and drop them (Postgres)',
    examples: [
      {
        line: 'audit-archive --before 2026-11 --to /var/archive',
        meaning: 'All months up to October 2026, oldest first, a file for each',
      },
      { line: 'audit-archive --to /var/archive', meaning: 'Every month that is older than Service:Audit:Retention' },
      {
        line: 'audit-archive --to /var/archive --jwks published-keys.json',
        meaning: 'The same, verified with this key set: it may have former keys, and no private key is needed',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'every such month was archived, or there was none',
      [exitCode.failed]: 'a month could not be archived and is still in the ledger: the report says why',
      [exitCode.usage]: 'an argument is malformed',
    },
    options: (parser) =>
      parser
        .option('before', {
          type: 'string',
          describe: 'The first month that stays, as in 2026-11; at most the current one',
          coerce: once('--before', readMonth),
        })
        .option('to', {
          type: 'string',
          describe: 'The directory for the exports; it must exist',
          demandOption: true,
          coerce: once('--to', (path) => path),
        })
        .option('jwks', {
          type: 'string',
          describe: 'The published keys to verify with: a file or an https URL. By default the configured signing keys',
          coerce: once('--jwks', readKeySource),
        })
        .option('json', {
          ...flag,
          describe: 'Report each archived month as one JSON object on a separate line',
        }),
    run: ({ before, to, jwks, json }, settings) => run({ before, directory: to ?? '', jwks, json }, settings),
  });
}

function readMonth(text: string): Month {
  const month = parseMonth(text);
  if (month === undefined) throw new Error('--before takes a month, as in 2026-11.');
  return month;
}

/** The line for an archived month: a sentence, or a JSON object. */
export function renderArchived(
  { month, checkpoints, records, location, sha256 }: ArchivedMonth,
  json: boolean,
): string {
  if (json) return `${JSON.stringify({ month, checkpoints, records, export: location, sha256 })}\n`;
  const content = `${counted(checkpoints, 'checkpoint')} and ${counted(records, 'record')}`;
  return `${month} has left: ${content} are in ${location} (SHA-256 ${sha256}).\n`;
}
