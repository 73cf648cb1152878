import { setTimeout as pause } from 'node:timers/promises';
import { keyGivenAsSetting, readAdminKey } from '../../adapters/cli/admin-key.ts';
import { applyReportJson, describeApplied, describeTotals } from '../../adapters/cli/agent-files/apply-report.ts';
import { describeFileProblem } from '../../adapters/cli/agent-files/file-problem.ts';
import { readAgentFiles } from '../../adapters/cli/agent-files/read-agent-files.ts';
import { type ApplyRequest, WRONG_FILES } from '../../adapters/cli/commands/agent-apply.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { agentKeys } from '../../adapters/jose/agent-keys.ts';
import { adminApiAgents } from '../../adapters/outbound/agent-registry.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { type Applied, applyDeclarations, type JudgedDeclaration } from '../../application/admin/apply-declarations.ts';
import { judgeDraft } from '../../application/admin/judge-draft.ts';
import { RegistryFailure } from '../../application/ports/agent-registry.ts';
import { CERTAIN_RULES, draftOf } from '../../domain/agents/declaration.ts';
import type { Secret } from '../../domain/secret.ts';
import { printError, runCommand } from './run-command.ts';

/** Makes the agents of a running service match the files. */
export async function agentApply(request: ApplyRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async (log) => {
      const misplaced = keyGivenAsSetting(overrides);
      if (misplaced !== undefined) {
        printError(misplaced);
        return exitCode.usage;
      }
      // The files are checked first, so that they can be checked without a key. With a wrong file no request is sent.
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
    },
    { log: process.stderr },
  );
}

async function applyAll(
  request: ApplyRequest,
  agents: readonly JudgedDeclaration[],
  adminKey: Secret,
): Promise<number> {
  const { server, dryRun, json } = request;
  const registry = adminApiAgents({ server, adminKey, network: httpNetwork(), pause });
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
    if (!(error instanceof RegistryFailure)) throw error;
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
