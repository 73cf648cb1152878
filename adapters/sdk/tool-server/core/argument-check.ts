/**
 * Checks the arguments of a tool call with a function of the tool server's author. The call is allowed only if the
 * function answers `true` in time. The function's own error is dropped, because it may quote arguments.
 */

import { withTimeout } from '../../http-answer.ts';
import type { Objection } from './access-request.ts';
import type { TaskTokenClaims } from './claims.ts';
import { misreadArguments } from './misread-arguments.ts';

/** The call that `authorize` decides about, without its arguments. */
export interface ToolCall {
  /** The verified claims: the person (`sub`), the agent (`act.sub`), the task and the scopes. */
  readonly claims: TaskTokenClaims;
  readonly tool: string;
  /** Aborts at the time limit. Pass it to requests, so that they end with the decision. */
  readonly signal: AbortSignal;
}

/**
 * @param args a copy of the arguments, which are not checked against the tool's schema. Changes of it have no effect
 * @returns whether the call is allowed. Anything but `true` and `false` is a fault, which refuses the call too
 */
export type AuthorizeArguments = (
  args: Readonly<Record<string, unknown>>,
  access: ToolCall,
) => boolean | Promise<boolean>;

/** @returns a check. It throws an Error without arguments if `authorize` fails or is late */
export function argumentCheck(
  authorize: AuthorizeArguments,
  { name: tool, arguments: given = {} }: { readonly name: string; readonly arguments: unknown },
  timeoutMs: number,
): (claims: TaskTokenClaims) => Promise<Objection> {
  return async (claims) => {
    const misread = misreadArguments(given);
    if (misread !== undefined) return misread;
    const limit = new AbortController();
    const late = () => new Error(`authorize of ${tool} did not answer within ${timeoutMs} ms.`);
    const args = structuredClone(given as Record<string, unknown>);
    const deciding = decide(authorize, args, { claims, tool, signal: limit.signal });
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
    // The cause is dropped, because it may quote the arguments.
    throw new Error(`authorize of ${call.tool} threw an error.`);
  }
  if (typeof answer !== 'boolean') throw new Error(`authorize of ${call.tool} answered neither true nor false.`);
  return answer;
}
