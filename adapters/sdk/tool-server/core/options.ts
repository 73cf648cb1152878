/** What a tool server is told when it is made, and whether that can work (specification "Options and defaults"). */

import { audienceProblem, issuerProblem } from '../../../../domain/agents/address.ts';
import { CLOCK_SKEW_SECONDS } from '../../../../domain/tokens/clock-skew.ts';
import { type AccessEvent, eventLine } from './access-event.ts';

export interface ToolServerOptions {
  /** The `iss` of every task token, and where the control plane is reached: https, or http on this machine. */
  readonly issuer: string;
  /** This server, as agents name it in `resource`: the `aud` of the tokens it accepts, compared letter by letter. */
  readonly audience: string;
  /** How far apart the two clocks may be; 60 when absent. */
  readonly clockSkewSeconds?: number;
  /** Whether only agents that act for a person are answered; true when absent. A policy can say otherwise. */
  readonly requireActor?: boolean;
  /** The longest `act` chain that is accepted; 1 when absent. A policy can say otherwise. */
  readonly maxDelegationDepth?: number;
  /** For a whole exchange with the control plane, in milliseconds; 10000 when absent. */
  readonly timeoutMs?: number;
  /** The realm of `WWW-Authenticate`; the audience when absent. */
  readonly realm?: string;
  /**
   * Told of every request that is decided, and waited for: nobody is let through whose event could not be written.
   * When absent, each event is a line of JSON on stdout.
   */
  readonly onAccess?: (event: AccessEvent) => void | Promise<void>;
  /** Told of what should not have happened, and was answered with a bare 500. Goes to stderr when absent. */
  readonly onError?: (error: unknown) => void;
  /** Reaches the control plane; the global `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds since 1970; `Date.now` when absent. */
  readonly now?: () => number;
}

/** The options, whole and found to be good. */
export type CheckedOptions = Required<ToolServerOptions>;

const DEFAULT_TIMEOUT_MS = 10_000;
/** Nobody who called waits for longer; and beyond 2^31 a timer would go off at once. */
const MAX_TIMEOUT_MS = 60_000;
/** A clock that is further off has to be set: every second of skew is one that an expired token still works. */
const MAX_SKEW_SECONDS = 300;
/** What a quoted-string of a header can hold without becoming another header (RFC 9110 §5.6.4). */
const HEADER_TEXT = /^[\x20-\x7E]+$/;

const CHECKS: { readonly [Name in keyof ToolServerOptions]-?: (value: unknown) => string | undefined } = {
  issuer: (value) => (typeof value === 'string' ? issuerProblem(value) : 'must be an absolute https URL'),
  audience: (value) => (typeof value === 'string' ? audienceProblem(value) : 'must be an absolute http or https URL'),
  clockSkewSeconds: (value) => wholeNumberProblem(value, 0, MAX_SKEW_SECONDS),
  requireActor: (value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  maxDelegationDepth: depthProblem,
  timeoutMs: (value) => wholeNumberProblem(value, 1, MAX_TIMEOUT_MS),
  realm: (value) =>
    typeof value === 'string' && value.trim() !== '' && HEADER_TEXT.test(value)
      ? undefined
      : 'must be printable ASCII and not blank',
  onAccess: functionProblem,
  onError: functionProblem,
  fetch: functionProblem,
  now: functionProblem,
};

/** @throws TypeError that says everything that is wrong */
export function checkOptions(given: ToolServerOptions): CheckedOptions {
  const options: CheckedOptions = {
    clockSkewSeconds: CLOCK_SKEW_SECONDS,
    requireActor: true,
    maxDelegationDepth: 1,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    realm: given?.audience,
    onAccess: writeLine,
    onError: (error) => console.error(error),
    fetch: (...request) => globalThis.fetch(...request),
    now: () => Date.now(),
    ...withoutAbsent(given),
  };
  throwProblems('createToolServer', options, CHECKS);
  // The service drops it from its own setting too, and no token has it.
  return { ...options, issuer: options.issuer.replace(/\/$/, '') };
}

function writeLine(event: AccessEvent): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${eventLine(event)}\n`, (error) => (error == null ? resolve() : reject(error)));
  });
}

/** A member that is not known is a problem as well: a protection that is spelled wrong must not be left out silently. */
export function throwProblems(
  where: string,
  options: object,
  checks: Readonly<Record<string, (value: unknown) => string | undefined>>,
): void {
  const given: ReadonlyMap<string, unknown> = new Map(Object.entries(options));
  const unknown = [...given.keys()].filter((name) => !Object.hasOwn(checks, name));
  const problems = Object.entries(checks).flatMap(([name, check]) => {
    const problem = check(given.get(name));
    return problem === undefined ? [] : `${name} ${problem}`;
  });
  const all = [...problems, ...unknown.map((name) => `${name} is not an option`)];
  if (all.length > 0) throw new TypeError(`${where}: ${all.join('; ')}.`);
}

/** A member that is `undefined` was left out. */
export function withoutAbsent<Options extends object>(given: Options): Options {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined)) as Options;
}

export function depthProblem(value: unknown): string | undefined {
  return wholeNumberProblem(value, 1, Number.MAX_SAFE_INTEGER, 'of 1 or more');
}

function wholeNumberProblem(value: unknown, least: number, most: number, range = `from ${least} to ${most}`) {
  const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most;
  return fits ? undefined : `must be a whole number ${range}`;
}

function functionProblem(value: unknown): string | undefined {
  return typeof value === 'function' ? undefined : 'must be a function';
}
