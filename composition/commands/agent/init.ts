/** `mandate agent init`: generates a key pair and a registration file. */

import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { flag, texts, textValue } from '../../../adapters/cli/argument.ts';
import { type Command, command } from '../../../adapters/cli/command.ts';
import { exitCode } from '../../../adapters/cli/exit-code.ts';
import { newSigningKey } from '../../../adapters/jose/signing-key.ts';
import { KeyFileUnusable, writeKeyFile } from '../../../adapters/platform/key-file.ts';
import { CERTAIN_RULES } from '../../../domain/agents/declaration.ts';
import type { Jwk } from '../../../domain/agents/public-key.ts';
import { judgeRegistration } from '../../../domain/agents/registration.ts';
import { fieldNames } from '../../../domain/agents/registration-draft.ts';
import { parseIsoDuration } from '../../../domain/duration.ts';
import type { Secret } from '../../../domain/secret.ts';
import { printError, runReport } from '../run-command.ts';

interface InitRequest {
  readonly agentId: string;
  readonly displayName: string;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  /** The directory for the two files. */
  readonly directory: string;
  readonly json: boolean;
}

export function agentInitCommand(): Command {
  return command({
    examples: [
      {
        line: 'agent init jira-triage --scope jira:read --audience https://jira.example',
        meaning: 'Write jira-triage.key.pem and jira-triage.yaml to the current directory',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'both files are written',
      [exitCode.failed]: 'a file exists already or could not be written: no file was left behind',
      [exitCode.usage]: 'an argument is wrong',
    },
    options: (parser) =>
      parser
        .positional('agent-id', {
          type: 'string',
          demandOption: true,
          describe: 'Its name: lowercase letters, digits, hyphens, underscores and dots',
        })
        .option('scope', {
          ...texts,
          demandOption: true,
          describe: 'A scope that the agent may get; once for each scope',
        })
        .option('audience', {
          ...texts,
          demandOption: true,
          describe: 'The URL of a tool server for its tokens; once for each',
        })
        .option('display-name', { ...textValue('--display-name'), describe: 'Its display name; by default its id' })
        .option('to', { ...textValue('--to'), describe: 'The directory for the files; by default the current one' })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: ({ 'agent-id': agentId, scope, audience, 'display-name': displayName = agentId, to, json }) =>
      agentInit({ agentId, displayName, scopes: scope, audiences: audience, directory: to ?? '.', json }),
  });
}

/**
 * Creates a file, and never overwrites an existing one, not even a symbolic link. Removes a file that could not be written
 * completely. Returns `undefined` on success, or the rest of a sentence that begins with the path.
 */
async function writeNewFile(path: string, text: string): Promise<string | undefined> {
  try {
    const file = await open(path, 'wx');
    try {
      await file.writeFile(text);
    } catch (cause) {
      await unlink(path);
      throw cause;
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'EEXIST') return 'exists already, and is never overwritten';
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'is in a directory that does not exist';
    return 'could not be written';
  }
}

interface WrittenFiles {
  /** The paths of the two files. */
  readonly registration: string;
  readonly privateKey: string;
  readonly kid: string;
}

/** Renders the next steps, or one JSON object. The text ends with a line feed. */
function renderInit(agentId: string, { registration, privateKey, kid }: WrittenFiles, json: boolean): string {
  if (json) return `${JSON.stringify({ agent_id: agentId, registration, private_key: privateKey, kid })}\n`;
  return `${privateKey} holds the agent's private key, for its owner alone. There is no other copy: give it to the agent.
${registration} holds its registration, with the public key ${kid}.

Next:
  1. Review ${registration}, and put it under version control. Never the key.
  2. mandate agent apply ${registration} --server https://… --dry-run
  3. The same without --dry-run. Both read the admin key from MANDATE_ADMIN_KEY, or from standard input.
  4. The agent signs its assertions with ES256 and the key, and sends them to /oauth2/token.
`;
}

/** Long enough for a few calls of tools. An operator raises it in the file for longer tasks. */
const TASK_TTL = 'PT10M';
/** How long a stolen token works at a tool server that does not introspect. */
const TOKEN_TTL = 'PT2M';

/** The registration file: minimal rights, and an explanation of each line. */
function registrationTemplate(request: InitRequest, publicJwk: Jwk): string {
  const { agentId, displayName, scopes, audiences } = request;
  return `# An agent of Mandate. Review it, keep it under version control, and apply it with
# "mandate agent apply".
# A field that is left out stays as it is at the service.

# Its name in tokens and in the ledger; it never changes.
agent_id: ${quoted(agentId)}
display_name: ${quoted(displayName)}

# Always true: an agent acts only for a person.
sponsor_required: true

# At most these. A token carries the scopes that the person holds, this list allows and the request names.
allowed_scopes:
${listed(scopes)}
# The tool servers that a token may be for. Each token is for one of them.
allowed_audiences:
${listed(audiences)}
# How long a task may last, and each of its tokens. Short times limit what a stolen token can do.
max_task_ttl: ${TASK_TTL}
max_token_ttl: ${TOKEN_TTL}

# The agent acts for the person itself, and delegates nothing to other agents.
max_delegation_depth: 1

# Those audiences of the list above that introspect the token of every call, so that a revocation works there at once.
high_risk_audiences: []

# The public half of the key that the agent signs its assertions with. To change keys: add the new one, apply,
# let the agent sign with it, remove the old one, apply.
jwks:
  keys:
${jwkEntry(publicJwk)}`;
}

function listed(items: readonly string[]): string {
  return items.map((item) => `  - ${quoted(item)}\n`).join('');
}

function jwkEntry(jwk: Jwk): string {
  return Object.entries(jwk)
    .map(([name, value], at) => `    ${at === 0 ? '- ' : '  '}${name}: ${quoted(String(value))}\n`)
    .join('');
}

/** Every JSON string is also a YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** Writes an agent's key pair, and a registration file with minimal rights. */
async function agentInit(request: InitRequest): Promise<number> {
  return runReport(async () => {
    const { pem, key } = await newSigningKey();
    const wrong = wrongArguments(request, key.publicJwk);
    wrong.forEach(printError);
    if (wrong.length > 0) return exitCode.usage;

    const registration = join(request.directory, `${request.agentId}.yaml`);
    const privateKey = join(request.directory, `${request.agentId}.key.pem`);
    const text = registrationTemplate(request, key.publicJwk);
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

const ARGUMENTS: Readonly<Record<string, string>> = {
  [fieldNames.agentId]: 'The id',
  [fieldNames.displayName]: '--display-name',
  [fieldNames.allowedScopes]: '--scope',
  [fieldNames.allowedAudiences]: '--audience',
};

/** A sentence for each value that no service would accept. */
function wrongArguments({ agentId, displayName, scopes, audiences }: InitRequest, publicJwk: Jwk): readonly string[] {
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
      mayActNames: undefined,
      redirectUris: undefined,
      publicClient: false,
      clientIdDocument: undefined,
      clientNames: undefined,
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
