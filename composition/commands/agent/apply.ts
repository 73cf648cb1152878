/** `mandate agent apply`: makes the agents of a running service match files. */

import { setTimeout as pause } from 'node:timers/promises';
import { keyGivenAsSetting, readAdminKey, withoutKeyOption } from '../../../adapters/cli/admin-key.ts';
import { readAgentFiles } from '../../../adapters/cli/agent-files/read-agent-files.ts';
import { flag, SERVER } from '../../../adapters/cli/argument.ts';
import { type Command, command, counted } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import { describeFileProblem, type FileProblem } from '../../../adapters/cli/yaml/yaml-file.ts';
import { agentKeys } from '../../../adapters/jose/agent-keys.ts';
import { adminApiAgents } from '../../../adapters/outbound/agent-registry.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemClock } from '../../../adapters/platform/system-clock.ts';
import {
  type Applied,
  applyDeclarations,
  type JudgedDeclaration,
} from '../../../application/admin/apply-declarations.ts';
import { judgeDraft } from '../../../application/admin/register-agent.ts';
import { AdminApiFailure } from '../../../application/ports/admin-api.ts';
import { CERTAIN_RULES, draftOf } from '../../../domain/agents/declaration.ts';
import type { Secret } from '../../../domain/secret.ts';
import { printError, runReport } from '../run-command.ts';

/** The exit code if a file is wrong. */
const WRONG_FILES = 3;

interface ApplyRequest {
  readonly files: readonly string[];
  /** The address of the service, without a trailing slash. */
  readonly server: string;
  readonly dryRun: boolean;
  readonly json: boolean;
}

export function agentApplyCommand(): Command {
  return command({
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
          .option('server', SERVER)
          .option('dry-run', { ...flag, describe: 'Write nothing' })
          .option('json', { ...flag, describe: 'Report as one JSON object' }),
      ),
    run: ({ files, server, 'dry-run': dryRun, json }, settings) =>
      agentApply({ files, server: server ?? '', dryRun, json }, settings),
  });
}

const DONE = { created: 'created', changed: 'changed', unchanged: 'unchanged', refused: 'refused' } as const;
const WOULD_BE = { ...DONE, created: 'would be created', changed: 'would be changed' } as const;

/** The lines for an agent that was applied: one, and one more for each error of the service. */
function describeApplied({ agentId, outcome }: Applied, dryRun: boolean): readonly string[] {
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
function describeTotals(applied: readonly Applied[], declared: number, dryRun: boolean): string {
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
function applyReportJson({ dryRun, applied, problems, failure }: ApplyReport): string {
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

/** Makes the agents of a running service match the files. */
async function agentApply(request: ApplyRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runReport(async (log) => {
    const misplaced = keyGivenAsSetting(overrides);
    if (misplaced !== undefined) {
      printError(misplaced);
      return exitCode.usage;
    }
    // Check the files first: this needs no admin key, and with a wrong file no request must be sent.
    const judge = { agentKeys: agentKeys(httpNetwork(), systemClock(), log), rules: CERTAIN_RULES };
    const files = await readAgentFiles(request.files, (declaration) => judgeDraft(judge, draftOf(declaration)));
    if (files.kind === 'wrong') {
      for (const problem of files.problems) printError(describeFileProblem(problem));
      if (request.json) report(request, { problems: files.problems });
      return WRONG_FILES;
    }
    const key = await readAdminKey({ environment: process.env, stdin: process.stdin });
    if (key.kind === 'refused') {
      printError(key.sentence);
      return exitCode.usage;
    }
    return applyAll(request, files.agents, key.key);
  });
}

async function applyAll(
  request: ApplyRequest,
  agents: readonly JudgedDeclaration[],
  adminKey: Secret,
): Promise<number> {
  const { server, dryRun, json } = request;
  const registry = adminApiAgents({ server, credential: adminKey, network: httpNetwork(), pause });
  const applied: Applied[] = [];
  let failure: string | undefined;
  try {
    await applyDeclarations(
      {
        registry,
        dryRun,
        applied(each) {
          applied.push(each);
          if (!json) for (const line of describeApplied(each, dryRun)) process.stdout.write(`${line}\n`);
        },
      },
      agents,
    );
  } catch (error) {
    if (!(error instanceof AdminApiFailure)) throw error;
    failure = error.message;
    printError(failure);
  }
  if (json) report(request, { applied, failure });
  else process.stdout.write(`${describeTotals(applied, agents.length, dryRun)}\n`);
  const isRefused = applied.some(({ outcome }) => outcome.kind === 'refused');
  return failure === undefined && !isRefused ? exitCode.done : exitCode.failed;
}

function report({ dryRun }: ApplyRequest, found: Partial<Parameters<typeof applyReportJson>[0]>): void {
  const nothing = { applied: [], problems: [], failure: undefined };
  process.stdout.write(applyReportJson({ ...nothing, ...found, dryRun }));
}
