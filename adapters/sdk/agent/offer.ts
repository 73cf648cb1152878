/**
 * An offer: the agent of a task hands a part of it to another agent (docs/sub-agents.md). The control plane makes and verifies
 * it. Here it is only read.
 */

import { decodeJwt } from 'jose';
import { audienceProblem } from '../../../domain/address.ts';
import { parseScope } from '../../../domain/scope.ts';
import { Refused } from './errors.ts';
import { isWithin } from './issued-token.ts';

export interface Offer {
  /**
   * What the other agent passes to `takeUp`. Send it to that agent only, as data. It is left out when the offer is printed, or
   * converted to JSON.
   */
  readonly text: string;
  /** Until when it can be taken up, by this machine's clock. */
  readonly expiresAt: Date;
  /** The offered scopes: the requested ones or fewer. */
  readonly scope: readonly string[];
}

/** An answer with an offer (RFC 8693 §2.2.1): it is no access token, so its `token_type` is `N_A`. */
const NO_ACCESS_TOKEN = 'n_a';
/** RFC 7515 §7.1. */
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * @param asked.at milliseconds since 1970, before the request was sent
 * @throws Refused if the body is not an answer with an offer, or has more scopes than requested
 */
export function readIssuedOffer(
  body: Readonly<Record<string, unknown>>,
  asked: { readonly at: number; readonly scope: readonly string[] },
): Offer {
  const { access_token: text, token_type: type, expires_in: seconds, scope } = body;
  if (
    typeof text !== 'string' ||
    !COMPACT_JWS.test(text) ||
    typeof type !== 'string' ||
    // An access token must not be sent to another agent.
    type.toLowerCase() !== NO_ACCESS_TOKEN ||
    typeof seconds !== 'number' ||
    !(seconds > 0 && seconds < Number.MAX_SAFE_INTEGER) ||
    typeof scope !== 'string'
  ) {
    throw new Refused('unexpected_answer', undefined);
  }
  const offered = scope.split(' ');
  if (!isWithin(offered, asked.scope)) throw new Refused('unexpected_answer', 'scope_wider_than_asked');
  const shown = { expiresAt: new Date(asked.at + seconds * 1000), scope: offered };
  return Object.defineProperty(shown as typeof shown & Pick<Offer, 'text'>, 'text', { value: text, enumerable: false });
}

/**
 * What an offer is for. Its signature is not verified: the control plane does that, and refuses another `resource`.
 *
 * @throws Refused if the text is no offer
 */
export function readOffer(text: string): { readonly resource: string; readonly scope: readonly string[] } {
  const { resource, scope } = claimsOf(text);
  const scopes = (typeof scope === 'string' ? parseScope(scope) : undefined) ?? [];
  if (typeof resource !== 'string' || audienceProblem(resource) !== undefined || scopes.length === 0) {
    throw new Refused('invalid_grant', 'offer_unreadable');
  }
  return { resource, scope: scopes };
}

function claimsOf(text: string): { readonly resource?: unknown; readonly scope?: unknown } {
  try {
    return decodeJwt(text);
  } catch {
    return {};
  }
}
