import type { SelectedRecords } from '../../../application/log/make-bundle.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';
import { flag, type KeySource, once, readKeySource } from '../argument.ts';
import { type Command, command, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

export interface BundleRequest {
  readonly selection: SelectedRecords;
  /** The file to create; `undefined`: standard output. */
  readonly out: string | undefined;
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
  /** Also believes the keys that only the database names. */
  readonly recordedKeys: boolean;
  /** Leaves the transparency log out, also if the service keeps one. */
  readonly withoutLog: boolean;
}

/** The exit code if the bundle lacks selected records. */
export const INCOMPLETE = 3;

/** @param run makes the bundle, and resolves with the exit code */
export function auditBundleCommand(
  run: (request: BundleRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'audit-bundle',
    summary: 'Write records with their proofs and keys as one document, which verifies offline',
    examples: [
      {
        line: 'audit-bundle --task task_01M31S7W68TMK7WDX8YKPSYT00 --out evidence.json',
        meaning: 'The whole history of a task. Reads Service:Database, Service:Signing and Service:Audit:Log',
      },
      {
        line: 'audit-bundle --sponsor ada --from 2026-09-01 --to 2026-09-30',
        meaning: 'The records of a person in a month, on standard output',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the bundle has all selected records',
      [exitCode.failed]: 'no bundle was made: the last line on standard error says why',
      [exitCode.usage]: 'an argument is malformed',
      [INCOMPLETE]: 'the bundle is valid, but lacks records that are not sealed, not in the log, or archived',
    },
    options: (parser) =>
      parser
        .option('task', {
          type: 'string',
          describe: 'The records of this task, from its start to its end',
          coerce: once('--task', parsed(parseTaskId, '--task takes a task id, which is task_ and 26 characters.')),
        })
        .option('sponsor', {
          type: 'string',
          describe: 'The records that name this person',
          coerce: once('--sponsor', (text) => text),
        })
        .option('agent', {
          type: 'string',
          describe: 'The records that name this agent',
          coerce: once('--agent', parsed(parseAgentId, '--agent takes an agent id.')),
        })
        .option('from', {
          type: 'string',
          describe: 'Records from this date or timestamp (UTC) on',
          coerce: once('--from', parsed(parseRangeStart, '--from takes an ISO 8601 date or timestamp that exists.')),
        })
        .option('to', {
          type: 'string',
          describe: 'Records before this timestamp, or up to the end of this date',
          coerce: once('--to', parsed(parseRangeEnd, '--to takes an ISO 8601 date or timestamp that exists.')),
        })
        .option('out', {
          type: 'string',
          describe: 'Create this file. By default the bundle goes to standard output',
          coerce: once('--out', (path) => path),
        })
        .option('jwks', {
          type: 'string',
          describe: 'Keys of checkpoints: a file or an https URL. By default the configured keys',
          coerce: once('--jwks', readKeySource),
        })
        .option('recorded-keys', {
          ...flag,
          describe: 'Also believe keys that only the database names, of checkpoints and of the log, and print them',
        })
        .option('without-log', { ...flag, describe: 'Leave out the transparency log, and prove by checkpoints alone' })
        .check(({ task, sponsor, agent, from, to }) => {
          const isRange = from !== undefined || to !== undefined;
          if ([task, sponsor, agent].filter((each) => each !== undefined).length > 1) return ONE_NAME;
          if (task !== undefined && isRange) return NO_RANGE;
          if (task === undefined && sponsor === undefined && agent === undefined && !isRange) return NOTHING;
          return from !== undefined && to !== undefined && to < from ? BACKWARDS : true;
        }),
    run: (
      { task, sponsor, agent, from, to, out, jwks, 'recorded-keys': recordedKeys, 'without-log': withoutLog },
      settings,
    ) => {
      const selection = { taskId: task, sponsor, agentId: agent, from, to };
      return run({ selection, out, jwks, recordedKeys, withoutLog }, settings);
    },
  });
}

const NOTHING = 'One of --task, --sponsor, --agent, --from and --to is required.';
const ONE_NAME = '--task, --sponsor and --agent exclude each other.';
const NO_RANGE = '--task takes neither --from nor --to, because it selects the whole history of the task.';
const BACKWARDS = '--to must not be before --from.';

function parsed<Value>(parse: (text: string) => Value | undefined, sentence: string): (text: string) => Value {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new Error(sentence);
    return value;
  };
}
