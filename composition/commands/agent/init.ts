/** `mandate agent init`: generates a key pair and a registration file, or for a program without a key the file alone. */

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
import { type InitialRegistration, registrationTemplate, TASK_TTL, TOKEN_TTL } from './registration-template.ts';

interface InitRequest extends InitialRegistration {
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
      {
        line: 'agent init editor --scope jira:read --audience https://jira.example --public-client --redirect-uri http://127.0.0.1/callback',
        meaning: 'Write editor.yaml alone, for a program without a key that sends people to /oauth2/authorize',
      },
    ],
    exitCodes: {
      [exitCode.done]: 'the files are written',
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
        .option('redirect-uri', {
          ...texts,
          describe: 'Where answers of /oauth2/authorize may go; once for each address',
        })
        .option('public-client', { ...flag, describe: 'The program has no key: none is generated' })
        .option('client-name', {
          ...texts,
          describe: 'A name under which the program registers itself; once for each',
        })
        .option('client-id-document', {
          ...textValue('--client-id-document'),
          describe: 'The https URL at which the program describes itself: no key is generated',
        })
        .option('display-name', { ...textValue('--display-name'), describe: 'Its display name; by default its id' })
        .option('to', { ...textValue('--to'), describe: 'The directory for the files; by default the current one' })
        .option('json', { ...flag, describe: 'Report as one JSON object' }),
    run: (given) =>
      agentInit({
        agentId: given['agent-id'],
        displayName: given['display-name'] ?? given['agent-id'],
        scopes: given.scope,
        audiences: given.audience,
        redirectUris: given['redirect-uri'],
        publicClient: given['public-client'],
        clientNames: given['client-name'],
        clientIdDocument: given['client-id-document'],
        directory: given.to ?? '.',
        json: given.json,
      }),
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
  /** A path, as that of the key. */
  readonly registration: string;
  /** `undefined` of a program without a key. */
  readonly key: { readonly path: string; readonly kid: string } | undefined;
}

/** Renders the next steps, or one JSON object. The text ends with a line feed. */
function renderInit(request: InitRequest, { registration, key }: WrittenFiles): string {
  const { agentId, clientIdDocument, json } = request;
  if (json) {
    const written = { agent_id: agentId, registration, private_key: key?.path ?? null, kid: key?.kid ?? null };
    return `${JSON.stringify(written)}\n`;
  }
  const files =
    key === undefined
      ? `${registration} holds the registration of a program without a key.`
      : `${key.path} holds the agent's private key, for its owner alone. There is no other copy: give it to the agent.
${registration} holds its registration, with the public key ${key.kid}.`;
  const steps = [
    `Review ${registration}, and put it under version control.${key === undefined ? '' : ' Never the key.'}`,
    `mandate agent apply ${registration} --server https://… --dry-run`,
    'The same without --dry-run. Both read the admin key from MANDATE_ADMIN_KEY, or from standard input.',
    ...(key === undefined
      ? []
      : ['The agent signs its assertions with ES256 and the key, and sends them to /oauth2/token.']),
    ...(startsWithPerson(request)
      ? [`The program sends people to /oauth2/authorize, with the client_id ${clientIdDocument ?? agentId}.`]
      : []),
  ];
  return `${files}\n\nNext:\n${steps.map((step, at) => `  ${at + 1}. ${step}\n`).join('')}`;
}

/** Whether a person may start its tasks at `/oauth2/authorize`. */
function startsWithPerson({ redirectUris, clientIdDocument }: InitRequest): boolean {
  return redirectUris !== undefined || clientIdDocument !== undefined;
}

/** Writes a registration file with minimal rights, and a key pair unless the program has none. */
async function agentInit(request: InitRequest): Promise<number> {
  return runReport(async () => {
    const { pem, key } = await newSigningKey();
    const hasKey = !request.publicClient && request.clientIdDocument === undefined;
    const publicJwk = hasKey ? key.publicJwk : undefined;
    const wrong = wrongArguments(request, publicJwk);
    wrong.forEach(printError);
    if (wrong.length > 0) return exitCode.usage;

    const registration = join(request.directory, `${request.agentId}.yaml`);
    const privateKey = join(request.directory, `${request.agentId}.key.pem`);
    const text = registrationTemplate(request, publicJwk);
    const problem = await writeFiles({ registration, text }, hasKey ? { path: privateKey, pem } : undefined);
    if (problem !== undefined) {
      printError(problem);
      return exitCode.failed;
    }
    const written = { registration, key: hasKey ? { path: privateKey, kid: key.keyId } : undefined };
    process.stdout.write(renderInit(request, written));
    return exitCode.done;
  });
}

const ARGUMENTS: Readonly<Record<string, string>> = {
  [fieldNames.agentId]: 'The id',
  [fieldNames.displayName]: '--display-name',
  [fieldNames.allowedScopes]: '--scope',
  [fieldNames.allowedAudiences]: '--audience',
  [fieldNames.redirectUris]: '--redirect-uri',
  [fieldNames.clientNames]: '--client-name',
  [fieldNames.clientIdDocument]: '--client-id-document',
};

/** A sentence for each value that no service would accept, and for options without one that they need. */
function wrongArguments(request: InitRequest, publicJwk: Jwk | undefined): readonly string[] {
  const { agentId, displayName, scopes, audiences } = request;
  const { redirectUris, publicClient, clientNames, clientIdDocument } = request;
  const missing = [
    publicClient && !startsWithPerson(request) && '--public-client: Needs --redirect-uri, where answers may go.',
    clientNames !== undefined &&
      !publicClient &&
      '--client-name: Needs --public-client, because programs that register themselves have no key.',
  ].filter((sentence) => sentence !== false);
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
      redirectUris,
      publicClient,
      clientIdDocument,
      clientNames,
      delegatesTo: undefined,
      jwks: publicJwk && { keys: [{ ...publicJwk }] },
      enabled: true,
    },
    CERTAIN_RULES,
  );
  const errors = verdict.kind === 'valid' ? [] : verdict.errors;
  return [...errors.map(({ field, sentence }) => `${ARGUMENTS[field] ?? field}: ${sentence}`), ...missing];
}

interface RegistrationFile {
  readonly registration: string;
  readonly text: string;
}

interface KeyFile {
  readonly path: string;
  readonly pem: Secret;
}

/** Writes all files or none; returns a sentence with the reason for none. @param key `undefined` of a program without one */
async function writeFiles(
  { registration, text }: RegistrationFile,
  key: KeyFile | undefined,
): Promise<string | undefined> {
  const problem = await writeNewFile(registration, text);
  if (problem !== undefined) return `${registration} ${problem}.`;
  if (key === undefined) return undefined;
  try {
    await writeKeyFile(key.path, key.pem);
    return undefined;
  } catch (error) {
    await unlink(registration);
    if (!(error instanceof KeyFileUnusable)) throw error;
    return `${key.path} ${error.problem}.`;
  }
}
