import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { writeNewFile } from '../../adapters/cli/agent-files/new-file.ts';
import { registrationTemplate, TASK_TTL, TOKEN_TTL } from '../../adapters/cli/agent-files/registration-template.ts';
import type { InitRequest } from '../../adapters/cli/commands/agent-init.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { KeyFileUnusable, writeKeyFile } from '../../adapters/platform/key-file.ts';
import { CERTAIN_RULES } from '../../domain/agents/declaration.ts';
import type { Jwk } from '../../domain/agents/jwk.ts';
import { judgeRegistration } from '../../domain/agents/registration.ts';
import { fieldNames } from '../../domain/agents/registration-draft.ts';
import { parseIsoDuration } from '../../domain/duration.ts';
import type { Secret } from '../../domain/secret.ts';
import { makeKey } from './keys-generate.ts';
import { printError, runCommand } from './run-command.ts';

/** Writes an agent's key pair, and a registration file with minimal rights. */
export async function agentInit(request: InitRequest): Promise<number> {
  return runCommand(
    async () => {
      const { pem, key } = await makeKey(undefined);
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
      process.stdout.write(request.json ? asJson(request, files) : nextSteps(files));
      return exitCode.done;
    },
    { log: process.stderr },
  );
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

interface WrittenFiles {
  readonly registration: string;
  readonly privateKey: string;
  readonly kid: string;
}

function nextSteps({ registration, privateKey, kid }: WrittenFiles): string {
  return `${privateKey} holds the agent's private key, for its owner alone. There is no other copy: give it to the agent.
${registration} holds its registration, with the public key ${kid}.

Next:
  1. Review ${registration}, and put it under version control. Never the key.
  2. mandate agent apply ${registration} --server https://… --dry-run
  3. The same without --dry-run. Both read the admin key from MANDATE_ADMIN_KEY, or from standard input.
  4. The agent signs its assertions with ES256 and the key, and sends them to /oauth2/token.
`;
}

function asJson({ agentId }: InitRequest, { registration, privateKey, kid }: WrittenFiles): string {
  return `${JSON.stringify({ agent_id: agentId, registration, private_key: privateKey, kid })}\n`;
}
