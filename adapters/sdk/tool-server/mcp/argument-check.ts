/**
 * The check of a tool call's arguments by a function of the tool server's author. It allows the call only if the
 * function answers `true` in time. No error holds arguments: the function's own errors may quote them.
 */

import { withTimeout } from '../../http-answer.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import type { RefusalReason } from '../core/refusal.ts';

/** The call that `authorize` decides about, apart from its arguments. */
export interface ToolCall {
  /** The verified claims: the person (`sub`), the agent (`act.sub`), the task and the scopes. */
  readonly claims: TaskTokenClaims;
  readonly tool: string;
  /** Aborts at the time limit. Pass it to requests, so that they do not outlive the decision. */
  readonly signal: AbortSignal;
}

/**
 * @param args a copy of the arguments, not yet checked against the tool's schema: a change of it has no effect
 * @returns whether the call is allowed; anything but `true` and `false` is a fault, and refuses the call too
 */
export type AuthorizeArguments = (
  args: Readonly<Record<string, unknown>>,
  access: ToolCall,
) => boolean | Promise<boolean>;

/** @returns a check that throws an Error, which holds no arguments, if `authorize` fails or is late */
export function argumentCheck(
  authorize: AuthorizeArguments,
  { name: tool, arguments: given = {} }: { readonly name: string; readonly arguments: unknown },
  timeoutMs: number,
): (claims: TaskTokenClaims) => Promise<RefusalReason | undefined> {
  return async (claims) => {
    // The SDK refuses arguments that are not an object. Some readers set the prototype from `__proto__`, and see others.
    if (!isPlainObject(given) || hasPrototypeMember(given)) return 'arguments_refused';
    const limit = new AbortController();
    const late = () => new Error(`authorize of ${tool} did not answer within ${timeoutMs} ms.`);
    const deciding = decide(authorize, structuredClone(given), { claims, tool, signal: limit.signal });
    try {
      return (await withTimeout(timeoutMs, deciding, late)) ? undefined : 'arguments_refused';
    } finally {
      limit.abort();
    }
  };
}

async function decide(authorize: AuthorizeArguments, args: Record<string, unknown>, call: ToolCall): Promise<boolean> {
  let answer: unknown;
  try {
    answer = await authorize(args, call);
  } catch {
    // The cause may quote the arguments, so it is dropped.
    throw new Error(`authorize of ${call.tool} threw an error.`);
  }
  if (typeof answer !== 'boolean') throw new Error(`authorize of ${call.tool} answered neither true nor false.`);
  return answer;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasPrototypeMember(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeMember);
}
