/**
 * Judges a request at the authorization endpoint, before and after the person's sign-in. In between, the client's registration or
 * document may change. The browser keeps the request meanwhile, and its owner could alter it: so nothing that an earlier
 * judgement found counts later.
 */

import { findRedirect } from '../../domain/agents/redirect-uri.ts';
import { type AuthorizationRequest, audienceFor } from '../../domain/authorization/authorization-request.ts';
import type { DenialReason } from '../../domain/denial.ts';
import type { Scope } from '../../domain/scope.ts';
import { judgePolicy, ROOT_DELEGATION_DEPTH } from '../../domain/tasks/policy.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type AuthorizationClient, type ClientSource, findClient } from '../authentication/find-client.ts';
import type { Denial, Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';

/** A request as it was read. */
export interface AskedAuthorization {
  /** The id of an agent, or the URL of its document. Empty: none that can be used. */
  readonly clientId: string;
  /** Empty: none that can be used. `undefined`: none was sent. */
  readonly redirectUri: string | undefined;
  /** `undefined` if there is none, or none that can be sent back. */
  readonly state: string | undefined;
  /** All else: its first fault goes to the redirect URI. */
  readonly request: Outcome<AuthorizationRequest>;
}

/** Where an answer goes, and what it repeats. */
export interface AnswerAddress {
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** Why a request ends on a page: client and redirect URI are not known to belong together. */
export type UnaddressedReason =
  | 'client_unknown'
  | 'client_document_unavailable'
  | 'client_document_unusable'
  | 'redirect_uri_not_registered';

/** As the record says it. A client whose description cannot be fetched has no keys either; one that cannot be used describes no client. */
export function recordedReason(reason: UnaddressedReason): DenialReason {
  switch (reason) {
    case 'client_document_unavailable':
      return 'actor_keys_unavailable';
    case 'client_document_unusable':
      return 'client_unknown';
    default:
      return reason;
  }
}

export type JudgedRequest =
  | { readonly kind: 'unaddressed'; readonly reason: UnaddressedReason }
  | { readonly kind: 'refused'; readonly to: AnswerAddress; readonly denial: Denial }
  | {
      readonly kind: 'judged';
      readonly to: AnswerAddress;
      readonly client: AuthorizationClient;
      readonly request: AuthorizationRequest;
      readonly audience: string;
      /** What the client asks for. */
      readonly asked: Scope;
      /** The part of it that the agent's registration allows. */
      readonly permitted: Scope;
    };

export interface RequestJudging {
  readonly clients: ClientSource;
}

export async function judgeRequest(
  { clients }: RequestJudging,
  { clientId, redirectUri: sent, state, request: read }: AskedAuthorization,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<JudgedRequest> {
  // 1. The client and its redirect URI (RFC 6749 §4.1.2.1: until both are known, the answer must go nowhere).
  const found = await findClient(clients, clientId, trace, permit);
  switch (found.kind) {
    case 'unknown':
      return { kind: 'unaddressed', reason: 'client_unknown' };
    case 'unusable':
      return { kind: 'unaddressed', reason: 'client_document_unusable' };
    case 'unavailable':
      return { kind: 'unaddressed', reason: 'client_document_unavailable' };
  }
  const { client } = found;
  const redirectUri = findRedirect(client.redirectUris, sent);
  if (redirectUri === undefined) return { kind: 'unaddressed', reason: 'redirect_uri_not_registered' };
  const to = { redirectUri, state };
  const refused = (denial: Denial): JudgedRequest => ({ kind: 'refused', to, denial });

  // 2. Whether the client may ask at all. That its agent is disabled, only a person who signed in learns (come-back.ts).
  if (client.keys.kind === 'none' && !client.isPublic) return refused({ reason: 'client_not_public' });

  // 3. What it asks for.
  if (read.kind === 'denied') return refused(read.denial);
  const request = read.value;
  const audience = audienceFor(client.agent, request);
  if (audience === undefined) return refused({ reason: 'audience_not_allowed', detail: WITHOUT_RESOURCE });
  const { allowedScopes } = client.agent;
  const asked = request.scope ?? allowedScopes;
  const policy = judgePolicy(client.agent, {
    audience,
    requested: asked,
    held: allowedScopes,
    depth: ROOT_DELEGATION_DEPTH,
  });
  if (policy.kind === 'refused') return refused({ reason: policy.reason });
  if (request.prompt.none) return refused({ reason: 'interaction_required' });
  return { kind: 'judged', to, client, request, audience, asked, permitted: policy.scope };
}

const WITHOUT_RESOURCE = 'The parameter resource is missing, and the agent may act at several resources.';
