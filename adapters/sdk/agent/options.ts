/** The options of `createAgent`, and their checks. */

import { issuerProblem } from '../../../domain/address.ts';
import { MAX_INSTANCE_LENGTH } from '../../../domain/identifiers.ts';
import type { AgentKey } from './agent-key.ts';

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

/** @throws TypeError that lists every wrong option. The message holds no part of the key */
export function checkAgentOptions(given: AgentOptions): CheckedAgentOptions {
  const { issuer, agentId, instance, timeoutMs = DEFAULT_TIMEOUT_MS, patienceMs = DEFAULT_PATIENCE_MS } = given;
  const problems = [
    problemOf('issuer', typeof issuer === 'string' ? issuerProblem(issuer) : 'must be an absolute https URL'),
    typeof agentId === 'string' && agentId !== '' ? '' : 'agentId must be a name',
    instance === undefined || (instance.trim() !== '' && instance.length <= MAX_INSTANCE_LENGTH)
      ? ''
      : `instance must be 1 to ${MAX_INSTANCE_LENGTH} characters and not blank`,
    problemOf('timeoutMs', durationProblem(timeoutMs)),
    problemOf('patienceMs', durationProblem(patienceMs)),
  ].filter((problem) => problem !== '');
  if (problems.length > 0) throw new TypeError(`createAgent: ${problems.join('; ')}.`);
  return {
    ...given,
    fetch: given.fetch ?? ((...request) => globalThis.fetch(...request)),
    clock: given.clock ?? systemClock,
    issuer: issuer.replace(/\/$/, ''),
    timeoutMs,
    patienceMs,
  };
}

function problemOf(name: string, problem: string | undefined): string {
  return problem === undefined ? '' : `${name} ${problem}`;
}

function durationProblem(value: unknown): string | undefined {
  return typeof value === 'number' && value > 0 && value <= MAX_DURATION_MS
    ? undefined
    : `must be a number of milliseconds, above 0 and at most ${MAX_DURATION_MS}`;
}

/** Only http and https: URLs of all other schemes share the origin `null`. @throws TypeError */
export function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError('origins must be http or https URLs.');
  return url.origin;
}
