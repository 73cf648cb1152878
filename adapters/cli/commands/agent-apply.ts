import type { Applied } from '../../../application/admin/apply-declarations.ts';
import { withoutKeyOption } from '../admin-key.ts';
import type { FileProblem } from '../agent-files/read-agent-files.ts';
import { flag, once, trustedUrl } from '../argument.ts';
import { type Command, command, counted, exitCode } from '../command.ts';
import type { SettingArgument } from '../setting-arguments.ts';

/** The exit code if a file is wrong. */
export const WRONG_FILES = 3;

export interface ApplyRequest {
  readonly files: readonly string[];
  /** Without a trailing slash. */
  readonly server: string;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** @param run applies the files, reports, and resolves with the exit code */
export function agentApplyCommand(
  run: (request: ApplyRequest, settings: readonly SettingArgument[]) => Promise<number>,
): Command {
  return command({
    usage: 'apply <files..>',
    summary:
      'Make the agents of a running service match YAML files. The admin key is read from MANDATE_ADMIN_KEY, or else from standard input',
    examples: [
      {
        line: 'agent apply agents/*.yaml --server https://mandate.example --dry-run',
        meaning: 'Report what would be created and changed, and write nothing',
      },
      {
        line: 'agent apply agents/*.yaml --server https://mandate.example < admin-key',
        meaning: 'Apply the files; a second run changes nothing',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'every agent matches its file; with --dry-run, would match as far as the command can check',
      [exitCode.failed]: 'the service refused an agent, could not be reached, or refused the key',
      [exitCode.usage]: 'an argument is wrong, or there is no key',
      [WRONG_FILES]: 'a file is wrong: nothing was sent',
    },
    options: (parser) =>
      withoutKeyOption(
        parser
          .positional('files', { type: 'string', array: true, demandOption: true, describe: 'The files, in YAML' })
          .option('server', {
            type: 'string',
            demandOption: true,
            describe: 'The address of the service: an https URL, or an http one of this machine',
            coerce: once('--server', readServer),
          })
          .option('dry-run', { ...flag, describe: 'Write nothing' })
          .option('json', { ...flag, describe: 'Report as one JSON object' }),
      ),
    run: ({ files, server, 'dry-run': dryRun, json }, settings) =>
      run({ files, server: server ?? '', dryRun, json }, settings),
  });
}

function readServer(text: string): string {
  const url = trustedUrl(text);
  if (url === undefined || url.search !== '' || url.hash !== '') {
    throw new Error('--server takes an https URL, or an http one of this machine, without user, query and fragment.');
  }
  return url.href.replace(/\/+$/, '');
}

const DONE = { created: 'created', changed: 'changed', unchanged: 'unchanged', refused: 'refused' } as const;
const WOULD_BE = { ...DONE, created: 'would be created', changed: 'would be changed' } as const;

/** The lines for an agent that was applied: one, and one more for each error of the service. */
export function describeApplied({ agentId, outcome }: Applied, dryRun: boolean): readonly string[] {
  const what = (dryRun ? WOULD_BE : DONE)[outcome.kind];
  switch (outcome.kind) {
    case 'changed':
      return [`${agentId}: ${what}: ${outcome.fields.join(', ')}`];
    case 'refused':
      return [
        `${agentId}: ${what}`,
        ...outcome.errors.map(({ field, sentence }) => `  ${field === '' ? '' : `${field}: `}${sentence}`),
      ];
    case 'created':
    case 'unchanged':
      return [`${agentId}: ${what}`];
  }
}

/** The last line. @param declared the number of declared agents. If the command stops early, fewer were applied */
export function describeTotals(applied: readonly Applied[], declared: number, dryRun: boolean): string {
  const words = dryRun ? WOULD_BE : DONE;
  const kinds = Object.keys(DONE) as readonly (keyof typeof DONE)[];
  const parts = kinds.flatMap((kind) => {
    const number = applied.filter(({ outcome }) => outcome.kind === kind).length;
    return number === 0 ? [] : [`${number} ${words[kind]}`];
  });
  const all = `${applied.length === declared ? '' : `${applied.length} of `}${counted(declared, 'agent')}`;
  const done = parts.length === 0 ? all : `${all}: ${parts.join(', ')}`;
  return `${done}.${dryRun ? ' Nothing was written.' : ''}`;
}

interface ApplyReport {
  readonly dryRun: boolean;
  readonly applied: readonly Applied[];
  /** Errors of the files. If there are any, nothing was sent. */
  readonly problems: readonly FileProblem[];
  /** Why the command stopped early; `undefined` if it did not. */
  readonly failure: string | undefined;
}

/** The report with `--json`. Returns text with a trailing line feed. */
export function applyReportJson({ dryRun, applied, problems, failure }: ApplyReport): string {
  const report = {
    dry_run: dryRun,
    agents: applied.map(({ agentId, outcome }) => ({
      agent_id: agentId,
      outcome: outcome.kind,
      ...(outcome.kind === 'changed' ? { fields: outcome.fields } : {}),
      ...(outcome.kind === 'refused' ? { errors: outcome.errors } : {}),
    })),
    problems: problems.map(({ file, line, field, sentence }) => ({
      file,
      line: line ?? null,
      field: field ?? null,
      sentence,
    })),
    failure: failure ?? null,
  };
  return `${JSON.stringify(report)}\n`;
}
