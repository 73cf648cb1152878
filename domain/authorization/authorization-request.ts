/**
 * What a client asks for at the authorization endpoint (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2; OpenID Connect Core 1.0
 * §3.1.2.1 for `prompt`). The request names an agent; the agent's registration is its ceiling.
 */

import type { Registration } from '../agents/agent.ts';
import type { Scope } from '../scope.ts';

export interface AuthorizationRequest {
  /** `code_challenge` of the method S256. */
  readonly challenge: string;
  /** `undefined`: the agent's only audience. */
  readonly audience: string | undefined;
  /** `undefined`: all scopes of the agent. */
  readonly scope: Scope | undefined;
  /** Why the agent asks, in its own words. */
  readonly purpose: string | undefined;
  readonly prompt: Prompt;
}

export interface Prompt {
  /** The person proves anew who they are. */
  readonly login: boolean;
  /** The client accepts no page. This service always shows one. */
  readonly none: boolean;
}

/** Bytes of UTF-8. The `state` travels through a cookie and two addresses. */
export const MAX_STATE_BYTES = 2048;

/** A list of words; unknown ones are ignored. `undefined` if `none` has another word beside it. */
export function readPrompt(text: string): Prompt | undefined {
  const words = text.split(' ').filter((word) => word !== '');
  const none = words.includes('none');
  return none && words.length > 1 ? undefined : { login: words.includes('login'), none };
}

/** The audience of the task that the request can lead to. `undefined` if the request names none, and the agent has several. */
export function audienceFor(
  { allowedAudiences }: Pick<Registration, 'allowedAudiences'>,
  { audience }: Pick<AuthorizationRequest, 'audience'>,
): string | undefined {
  if (audience !== undefined) return audience;
  return allowedAudiences.length === 1 ? allowedAudiences[0] : undefined;
}
