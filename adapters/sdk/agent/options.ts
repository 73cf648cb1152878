/** The options of `createAgent`, and the checks of the arguments that several functions take. */

import { audienceProblem, issuerProblem } from '../../../domain/address.ts';
import { MAX_INSTANCE_LENGTH } from '../../../domain/identifiers.ts';
import { isScopeToken } from '../../../domain/scope.ts';
import { purposeProblem } from '../../../domain/tasks/purpose.ts';
import { isBlank } from '../../../domain/visible.ts';
import {
  type Checks,
  callable,
  checkArguments,
  listOf,
  membersOf,
  must,
  optional,
  optionsOf,
  text,
  textWithout,
  withoutAbsent,
} from '../arguments.ts';
import { scopesWith } from '../scope-list.ts';
import { type AgentKey, agentKey } from './agent-key.ts';

/** Time and randomness. Tests pass a clock that they control. */
export interface AgentClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` milliseconds. */
  sleep(ms: number): Promise<void>;
  /** A number from 0 (inclusive) to 1 (exclusive), which spreads the retries of many agents. */
  random(): number;
}

export interface AgentOptions {
  /** The control plane's URL, which is the `iss` of its tokens: https, or http on this machine. */
  readonly issuer: string;
  /** The agent's id in its registration. */
  readonly agentId: string;
  readonly key: AgentKey;
  /** Names the agent's process: at most 128 characters, shown in `act.instance`, not verified. */
  readonly instance?: string;
  /** Time limit of a request, and of a signature, in milliseconds. The default is 10000. */
  readonly timeoutMs?: number;
  /** How long a call retries if the control plane is unavailable and no token works, in ms. The default is 30000. */
  readonly patienceMs?: number;
  /** The default is the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: AgentClock;
}

export type CheckedAgentOptions = Required<Omit<AgentOptions, 'instance'>> & Pick<AgentOptions, 'instance'>;

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_PATIENCE_MS = 30_000;
/** Node's timers fire at once for a longer duration. */
const MAX_DURATION_MS = 2 ** 31 - 1;

const systemClock: AgentClock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: () => Math.random(),
};

export const duration = must(`be a number of milliseconds, above 0 and at most ${MAX_DURATION_MS}`, (value) => {
  return typeof value === 'number' && value > 0 && value <= MAX_DURATION_MS;
});

const instance = must(`be a text of 1 to ${MAX_INSTANCE_LENGTH} characters that is not blank`, (value) => {
  return typeof value === 'string' && !isBlank(value) && value.length <= MAX_INSTANCE_LENGTH;
});

const CHECKS: Checks<AgentOptions> = {
  issuer: textWithout(issuerProblem),
  agentId: text,
  key: agentKey,
  instance: optional(instance),
  timeoutMs: optional(duration),
  patienceMs: optional(duration),
  fetch: optional(callable),
  clock: optional(membersOf({ now: callable, sleep: callable, random: callable })),
};

/** @throws TypeError that lists every wrong option. The message holds no part of the key */
export function checkAgentOptions(given: AgentOptions): CheckedAgentOptions {
  checkArguments('createAgent', given, optionsOf(CHECKS));
  return {
    fetch: (...request) => globalThis.fetch(...request),
    clock: systemClock,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    patienceMs: DEFAULT_PATIENCE_MS,
    ...withoutAbsent(given),
    issuer: given.issuer.replace(/\/$/, ''),
  };
}

/** The characters of an access token (RFC 6749 appendix A.12). A request without a token must not be sent. */
const ACCESS_TOKEN = /^[\x21-\x7E]+$/;

export function isAccessToken(value: unknown): value is string {
  return typeof value === 'string' && ACCESS_TOKEN.test(value);
}

export const accessToken = must('be an access token: a text without spaces', isAccessToken);

export const audience = textWithout(audienceProblem);

export const purposeText = textWithout(purposeProblem);

/** An entry may hold several scopes, separated by spaces. */
export const agentScopes = scopesWith(
  (entry) => entry.split(' ').every(isScopeToken),
  'printable ASCII without quotes and backslashes',
);

/** Only http and https: URLs of all other schemes share the origin `null`. */
export const originList = listOf(
  must('be an http or https URL', (value) => typeof value === 'string' && /^https?:/.test(protocolOf(value))),
);

function protocolOf(address: string): string {
  return URL.canParse(address) ? new URL(address).protocol : '';
}
