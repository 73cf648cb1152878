import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { keyGivenAsSetting, readAdminKey } from '../../adapters/cli/admin-key.ts';
import { describeFileProblem, readAgentFiles } from '../../adapters/cli/agent-files/read-agent-files.ts';
import { exitCode } from '../../adapters/cli/command.ts';
import {
  type ApplyRequest,
  applyReportJson,
  describeApplied,
  describeTotals,
  WRONG_FILES,
} from '../../adapters/cli/commands/agent-apply.ts';
import {
  type InitRequest,
  registrationTemplate,
  renderInit,
  TASK_TTL,
  TOKEN_TTL,
  writeNewFile,
} from '../../adapters/cli/commands/agent-init.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { agentKeys } from '../../adapters/jose/agent-keys.ts';
import { newSigningKey } from '../../adapters/jose/signing-key.ts';
import { adminApiAgents } from '../../adapters/outbound/agent-registry.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { KeyFileUnusable, writeKeyFile } from '../../adapters/platform/key-file.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { type Applied, applyDeclarations, type JudgedDeclaration } from '../../application/admin/apply-declarations.ts';
import { judgeDraft } from '../../application/admin/register-agent.ts';
import { RegistryFailure } from '../../application/ports/agent-registry.ts';
import { CERTAIN_RULES, draftOf } from '../../domain/agents/declaration.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';
import { judgeRegistration } from '../../domain/agents/registration.ts';
import { fieldNames } from '../../domain/agents/registration-draft.ts';
import { parseIsoDuration } from '../../domain/duration.ts';
import type { Secret } from '../../domain/secret.ts';
import { printError, runReport } from './run-command.ts';

/** Makes the agents of a running service match the files. */
export async function agentApply(request: ApplyRequest, overrides: readonly SettingArgument[]): Promise<number> {
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

/** Writes an agent's key pair, and a registration file with minimal rights. */
export async function agentInit(request: InitRequest): Promise<number> {
  return runReport(async () => {
    const { pem, key } = await newSigningKey();
    const wrong = wrongArguments(request, key.publicJwk);
    wrong.forEach(printError);
    if (wrong.length > 0) return exitCode.usage;

    const registration = join(request.directory, `${request.agentId}.yaml`);
    const privateKey = join(request.directory, `${request.agentId}.key.pem`);
    const text = registrationTemplate({ ...named(request), publicJwk: key.publicJwk });
    const problem = await writeBoth({ registration, text, privateKey, pem });
    if (problem !== undefined) {
      printError(problem);
      return exitCode.failed;
    }
    const files = { registration, privateKey, kid: key.keyId };
    process.stdout.write(renderInit(request.agentId, files, request.json));
    return exitCode.done;
  });
}

function named({ agentId, displayName = agentId, scopes, audiences }: InitRequest) {
  return { agentId, displayName, scopes, audiences };
}

const ARGUMENTS: Readonly<Record<string, string>> = {
  [fieldNames.agentId]: 'The id',
  [fieldNames.displayName]: '--display-name',
  [fieldNames.allowedScopes]: '--scope',
  [fieldNames.allowedAudiences]: '--audience',
};

/** A sentence for each value that no service would accept. */
function wrongArguments(request: InitRequest, publicJwk: Jwk): readonly string[] {
  const { agentId, displayName, scopes, audiences } = named(request);
  const verdict = judgeRegistration(
    {
      agentId,
      displayName,
      sponsorRequired: true,
      allowedScopes: scopes,
      allowedAudiences: audiences,
      maxTaskTtl: parseIsoDuration(TASK_TTL),
      maxTokenTtl: parseIsoDuration(TOKEN_TTL),
      maxDelegationDepth: 1,
      highRiskAudiences: [],
      jwksUri: undefined,
      jwks: { keys: [{ ...publicJwk }] },
      enabled: true,
    },
    CERTAIN_RULES,
  );
  if (verdict.kind === 'valid') return [];
  return verdict.errors.map(({ field, sentence }) => `${ARGUMENTS[field] ?? field}: ${sentence}`);
}

interface Files {
  readonly registration: string;
  readonly text: string;
  readonly privateKey: string;
  readonly pem: Secret;
}

/** Writes both files or none; returns a sentence with the reason for none. */
async function writeBoth({ registration, text, privateKey, pem }: Files): Promise<string | undefined> {
  const problem = await writeNewFile(registration, text);
  if (problem !== undefined) return `${registration} ${problem}.`;
  try {
    await writeKeyFile(privateKey, pem);
    return undefined;
  } catch (error) {
    await unlink(registration);
    if (!(error instanceof KeyFileUnusable)) throw error;
    return `${privateKey} ${error.problem}.`;
  }
}
