import { once } from '../argument.ts';
import { type Command, command, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

const formats = ['ocsf'] as const;

export interface ExportRequest {
  readonly format: (typeof formats)[number];
  /** The last sequence number of the previous export; 0 exports from the beginning. */
  readonly after: number;
}

/** @param run exports, and resolves with the exit code */
export function auditExportCommand(
  run: (request: ExportRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'audit-export',
    summary: 'Write the sealed records as events for a SIEM, one JSON object a line',
    examples: [
      {
        line: 'audit-export --format ocsf',
        meaning: 'Every sealed record as an event of OCSF 1.9, oldest first. Reads Service:Database',
      },
      {
        line: 'audit-export --format ocsf --after 4711',
        meaning: 'The same, from the record after number 4711: the last metadata.sequence of the previous export',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'every sealed record after that number was written',
      [exitCode.failed]: 'the ledger could not be read, or the output not be written: the lines before are correct',
      [exitCode.usage]: 'an argument is malformed',
      [ARCHIVED]: 'records after that number have been archived and may be missing; all others were written',
      [UNKNOWN_POSITION]: 'no record with that number is sealed: nothing was written',
    },
    options: (parser) =>
      parser
        .option('format', {
          type: 'string',
          describe: 'The format of the events: ocsf',
          demandOption: true,
          coerce: once('--format', readFormat),
        })
        .option('after', {
          type: 'string',
          describe: 'The sequence number after which the export begins; by default 0',
          coerce: once('--after', readNumber),
        }),
    run: ({ format = 'ocsf', after = 0 }, settings) => run({ format, after }, settings),
  });
}

/** The exit code of an export that lacks only archived records. */
export const ARCHIVED = 3;
/** The exit code if no export of this ledger can have ended at the given number. */
export const UNKNOWN_POSITION = 4;

function readFormat(text: string): (typeof formats)[number] {
  const format = formats.find((one) => one === text);
  if (format === undefined) throw new Error('--format takes ocsf.');
  return format;
}

/** Accepts the digits of `metadata.sequence` only: a number with a sign or an exponent could be read as another number. */
function readNumber(text: string): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : undefined;
  // The next sequence number must be a safe integer too.
  if (number === undefined || number >= Number.MAX_SAFE_INTEGER) throw new Error('--after takes a sequence number.');
  return number;
}
