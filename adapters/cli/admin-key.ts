/**
 * The admin key of a command that asks a running service: from the environment or from standard input, and never from
 * an argument, which every user of the machine can see in the list of processes and which the shell remembers.
 */

import type { Readable } from 'node:stream';
import type { Argv } from 'yargs';
import { Secret } from '../../domain/secret.ts';
import type { SettingArgument } from './setting-arguments.ts';

const ADMIN_KEY_VARIABLE = 'MANDATE_ADMIN_KEY';

export type AdminKeyReading =
  | { readonly kind: 'read'; readonly key: Secret }
  | { readonly kind: 'refused'; readonly sentence: string };

/** RFC 6750 §2.1: all that an Authorization header can carry. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_KEY = 2048;
/** Whoever writes a key into a pipe does so at once; a pipe that stays open and empty is somebody else's. */
const STDIN_MS = 10_000;

export interface AdminKeySources {
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
    : refused('The admin key holds a character that no key can have, or is far too long.');
}

/** Nothing is asked for on a terminal, where the key would be seen. */
async function firstLine(stdin: AdminKeySources['stdin']): Promise<string> {
  if (stdin.isTTY === true) return '';
  const tooLate = setTimeout(() => stdin.destroy(), STDIN_MS);
  let text = '';
  try {
    for await (const chunk of stdin) {
      text += String(chunk);
      if (text.includes('\n') || text.length > MAX_KEY) break;
    }
  } catch {
    // Cut off by the time limit, or not to be read at all: there is no key then.
  } finally {
    clearTimeout(tooLate);
  }
  return text.split('\n', 1)[0] ?? '';
}

const NEVER_AN_ARGUMENT = `The admin key is never an argument, where other users of this machine can read it, and is known to them now if it was one. Set ${ADMIN_KEY_VARIABLE}, or write it to standard input.`;

/** What people would try. They are told, instead of being told that there is no such option. */
const ATTEMPTS = ['admin-key', 'api-key', 'key', 'token', 'bearer-token'];

/** Refuses the key as an option. */
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

/** Refuses the key as the service's own setting, which every command would take. */
export function keyGivenAsSetting(settings: readonly SettingArgument[]): string | undefined {
  return settings.some(({ key }) => key.toLowerCase() === 'service:admin:apikey') ? NEVER_AN_ARGUMENT : undefined;
}

function refused(sentence: string): AdminKeyReading {
  return { kind: 'refused', sentence };
}
