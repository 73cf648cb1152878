/**
 * Reads the credential for a command that calls a running service: the admin key, or an operator's access token. It is
 * never an argument: every user of the machine can read arguments, and the shell keeps them in its history.
 */

import type { Readable } from 'node:stream';
import type { Argv } from 'yargs';
import { Secret } from '../../domain/secret.ts';
import type { SettingArgument } from './setting-arguments.ts';

const ADMIN_KEY_VARIABLE = 'MANDATE_ADMIN_KEY';

type AdminKeyReading =
  | { readonly kind: 'read'; readonly key: Secret }
  | { readonly kind: 'refused'; readonly sentence: string };

/** RFC 6750 §2.1: the characters that an Authorization header can carry as a bearer token. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_KEY = 2048;
/** A pipe that holds a key delivers it at once. After this time, an open pipe without input counts as having no key. */
const STDIN_MS = 10_000;

interface AdminKeySources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
}

export async function readAdminKey({ environment, stdin }: AdminKeySources): Promise<AdminKeyReading> {
  const given = environment[ADMIN_KEY_VARIABLE] ?? '';
  const key = (given === '' ? await firstLine(stdin) : given).trim();
  if (key === '') {
    return refused(`There is no admin key: set ${ADMIN_KEY_VARIABLE}, or write it to standard input.`);
  }
  return key.length <= MAX_KEY && BEARER_TOKEN.test(key)
    ? { kind: 'read', key: new Secret(key) }
    : refused('The admin key contains a character that no key can have, or is too long.');
}

const OPERATOR_TOKEN_VARIABLE = 'MANDATE_OPERATOR_TOKEN';
/** The service reads subject tokens up to the same length. */
const MAX_CREDENTIAL = 16_384;
/** A compact JWS: an access token of an operator. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

type CredentialReading =
  | { readonly kind: 'read'; readonly credential: Secret; readonly isToken: boolean }
  | { readonly kind: 'refused'; readonly sentence: string };

/**
 * Reads the admin key, or an operator's access token: from the file, the environment or standard input.
 *
 * @param file its text, if the command line names one; `undefined` if it cannot be read
 */
export async function readCredential(
  { environment, stdin }: AdminKeySources,
  file: { readonly text: string | undefined } | undefined,
): Promise<CredentialReading> {
  const names = [ADMIN_KEY_VARIABLE, OPERATOR_TOKEN_VARIABLE];
  const given = names.map((name) => environment[name] ?? '').filter((value) => value !== '');
  if (file !== undefined && file.text === undefined) return refused('The file of --key-file cannot be read.');
  if (file === undefined && given.length > 1) return refused(`Both ${names.join(' and ')} are set: unset one of them.`);
  const text = (file?.text?.split('\n', 1)[0] ?? given[0] ?? (await firstLine(stdin, MAX_CREDENTIAL))).trim();
  if (text === '') {
    return refused(
      `There is no admin key and no access token: set ${names.join(' or ')}, name a file with --key-file, or write it to standard input.`,
    );
  }
  return text.length <= MAX_CREDENTIAL && BEARER_TOKEN.test(text)
    ? { kind: 'read', credential: new Secret(text), isToken: COMPACT.test(text) }
    : refused('The admin key or access token contains a character that none can have, or is too long.');
}

/** Reads nothing from a terminal: the key would be visible there. */
async function firstLine(stdin: AdminKeySources['stdin'], most = MAX_KEY): Promise<string> {
  if (stdin.isTTY === true) return '';
  const tooLate = setTimeout(() => stdin.destroy(), STDIN_MS);
  let text = '';
  try {
    for await (const chunk of stdin) {
      text += String(chunk);
      if (text.includes('\n') || text.length > most) break;
    }
  } catch {
    // The time limit has passed, or standard input is unreadable. Either way there is no key.
  } finally {
    clearTimeout(tooLate);
  }
  return text.split('\n', 1)[0] ?? '';
}

const NEVER_AN_ARGUMENT = `The admin key is never an argument, because other users of this machine can read arguments. If it was one, replace it. Set ${ADMIN_KEY_VARIABLE}, or write it to standard input.`;

/** Option names that users are likely to try. The error tells them where the key belongs, instead of "unknown option". */
const ATTEMPTS = ['admin-key', 'api-key', 'key', 'token', 'bearer-token'];

/** Refuses the admin key as an option of the command. */
export function withoutKeyOption<Options>(parser: Argv<Options>): Argv<Options> {
  for (const attempt of ATTEMPTS) {
    parser.option(attempt, {
      hidden: true,
      coerce: (given: unknown) => {
        if (given !== undefined) throw new Error(NEVER_AN_ARGUMENT);
      },
    });
  }
  return parser;
}

/** Refuses the admin key as the setting Service:Admin:ApiKey on the command line, where every command accepts settings. */
export function keyGivenAsSetting(settings: readonly SettingArgument[]): string | undefined {
  return settings.some(({ key }) => key.toLowerCase() === 'service:admin:apikey') ? NEVER_AN_ARGUMENT : undefined;
}

function refused(sentence: string) {
  return { kind: 'refused', sentence } as const;
}
