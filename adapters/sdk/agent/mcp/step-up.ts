/**
 * When the client of an MCP server asks for more scopes. The SDKs ask after every 403 `insufficient_scope`, and drop its
 * reason. So the challenge of a 403 that no scope would avoid is removed before the SDK reads the answer.
 */

import type { CheckedAgentOptions } from '../options.ts';
import type { Task } from '../task.ts';

/** What is known for the next step-up. */
export interface StepUp {
  readonly options: CheckedAgentOptions;
  /** `undefined` until the server has asked for a token. */
  task: Task | undefined;
  /** The scopes that a challenge named, and the task lacks. */
  readonly needed: Set<string>;
  /** The scopes that the last exchange was asked for, and did not grant. */
  withheld: readonly string[];
  /** Whether the SDK passes on which scopes a server named: SDK 1 does not. */
  namesScopes: boolean;
  /** Whether the server has answered 401 to the token of the task. */
  isRejected: boolean;
}

/** The scopes that the task does not have. */
export function lackedBy({ scope }: Task, wanted: readonly string[]): readonly string[] {
  return [...new Set(wanted)].filter((name) => name !== '' && !scope.includes(name));
}

/** Sends a request of the transport, and removes the challenge of a 403 that no scope would avoid. */
export async function sendForTask(
  state: StepUp,
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  const { fetch } = state.options;
  const answer = await fetch(input, init);
  const [, sentToken] = /^Bearer (.+)$/.exec(new Headers(init?.headers).get('authorization') ?? '') ?? [];
  const { task } = state;
  // The requests for metadata and tokens have no bearer token.
  if (task === undefined || sentToken === undefined) return answer;
  if (answer.ok) state.withheld = [];
  if (answer.status === 401) state.isRejected = true;
  const scopes = answer.status === 403 ? scopesOfChallenge(answer) : undefined;
  if (scopes === undefined) return answer;
  const lacked = lackedBy(task, scopes);
  if (lacked.some((name) => !state.withheld.includes(name))) {
    for (const name of lacked) state.needed.add(name);
    state.isRejected = false;
    return answer;
  }
  // The next call asks for them again: the person may have them then. SDK 1 does that only after a call that succeeded.
  if (state.namesScopes) state.withheld = [];
  const token = lacked.length === 0 && scopes.length > 0 ? await task.token() : sentToken;
  if (token === sentToken) return withoutChallenge(answer);
  // A concurrent call has got these scopes meanwhile.
  await answer.body?.cancel();
  const headers = new Headers(init?.headers);
  headers.set('authorization', `Bearer ${token}`);
  const repeated = await fetch(input, { ...init, headers });
  return repeated.status === 403 ? withoutChallenge(repeated) : repeated;
}

/** One parameter with its value, a quoted-string or a token (RFC 9110 §11.2). */
const PARAMETER = /\b(\w{1,32})=(?:"((?:[^"\\]|\\.)*)"|([^ \t,"]+))/g;

/** @returns the scopes that would help; none if the challenge names none; `undefined` if it does not ask for more scopes */
function scopesOfChallenge({ headers }: Response): readonly string[] | undefined {
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, token] of (headers.get('www-authenticate') ?? '').matchAll(PARAMETER)) {
    if (!parameters.has(name)) parameters.set(name, quoted?.replaceAll(/\\(.)/g, '$1') ?? token ?? '');
  }
  if (parameters.get('error') !== 'insufficient_scope') return undefined;
  return (parameters.get('scope') ?? '').split(' ').filter((name) => name !== '');
}

/** Without a challenge the clients of both SDKs ask for no token, and throw an error with the text of the answer. */
function withoutChallenge({ body, status, statusText, headers: given }: Response): Response {
  const headers = new Headers(given);
  headers.delete('www-authenticate');
  return new Response(body, { status, statusText, headers });
}
