/**
 * Serves the public documents: metadata and key sets (specification "Public"; supplement "Token endpoint", "Agents").
 * The metadata names only what the service supports. The other files of this folder serve health checks (health.ts),
 * status lists for tool servers (status-lists.ts) and the transparency log (log.ts). None needs a credential, but a
 * log may be set to ask for one.
 */

import express, { type RequestHandler, type Response, type Router } from 'express';
import { ASSERTION_ALGORITHMS } from '../../../application/authentication/authenticate-agent.ts';
import type { SigningKeys } from '../../../application/ports/keys.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { type AgentId, parseAgentId } from '../../../domain/identifiers.ts';
import { answerFaults, answerProblem, methodNotAllowed, unknownPath } from '../message/problem-details.ts';
import { AUTHORIZATION_CODE, REFRESH_TOKEN, TOKEN_EXCHANGE } from '../oauth/requests.ts';
import type { OptionalPath } from '../routes.ts';

export const TOKEN_PATH = '/oauth2/token';
export const REVOCATION_PATH = '/oauth2/revoke';

export function discoveryRouter(surface: {
  readonly issuer: string;
  readonly signingKeys: SigningKeys;
  readonly optional: readonly OptionalPath[];
  /** With `Service:Authorize:ClientId`. */
  readonly authorizing: { readonly publicClients: boolean } | undefined;
}): Router {
  const { issuer } = surface;
  const router = express.Router({ caseSensitive: true, strict: true });
  const metadata = { ...authorizationServerMetadata(issuer), ...authorizationCode(surface.authorizing) };
  for (const row of surface.optional) {
    if (row.advertisedAs !== undefined) metadata[row.advertisedAs] = `${issuer}${row.path}`;
  }
  const sendMetadata: RequestHandler = (_request, response) => answerPublicDocument(response, metadata);
  const documents: readonly (readonly [path: string, send: RequestHandler])[] = [
    ['/.well-known/openid-configuration', sendMetadata],
    // RFC 8414 §3: for clients that use OAuth without OpenID.
    ['/.well-known/oauth-authorization-server', sendMetadata],
    ['/.well-known/jwks.json', (_request, response) => answerPublicDocument(response, surface.signingKeys.published())],
  ];
  for (const [path, send] of documents) router.route(path).get(send).all(methodNotAllowed('GET, HEAD'));
  return router;
}

/**
 * Authorization server metadata of RFC 8414 §2. The last two members are those of OpenID Connect Discovery 1.0 §3 that
 * OpenID libraries need: go-oidc accepts no other algorithms than the listed ones. The service issues no ID token.
 */
function authorizationServerMetadata(issuer: string): Record<string, unknown> {
  return {
    issuer,
    token_endpoint: `${issuer}${TOKEN_PATH}`,
    introspection_endpoint: `${issuer}/oauth2/introspect`,
    revocation_endpoint: `${issuer}${REVOCATION_PATH}`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: [],
    grant_types_supported: [TOKEN_EXCHANGE, REFRESH_TOKEN],
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    introspection_endpoint_auth_methods_supported: ['none'],
    id_token_signing_alg_values_supported: ['ES256'],
    subject_types_supported: ['public'],
  };
}

/** What a client must know that sends a person here (RFC 8414 §2, RFC 9207 §3, draft-ietf-oauth-client-id-metadata-document §6). */
function authorizationCode(authorizing: { readonly publicClients: boolean } | undefined): Record<string, unknown> {
  if (authorizing === undefined) return {};
  const methods = ['private_key_jwt', ...(authorizing.publicClients ? ['none'] : [])];
  return {
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: [TOKEN_EXCHANGE, REFRESH_TOKEN, AUTHORIZATION_CODE],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

/** Five minutes: shorter than any step of a key rotation, and long enough to save most requests. */
const CACHE = 'public, max-age=300';

/** Scripts of any origin may read metadata and key sets (supplement "Sizes and forms nobody wrote down"). */
function answerPublicDocument(response: Response, document: unknown): void {
  response.set({ 'Access-Control-Allow-Origin': '*', 'Cache-Control': CACHE }).json(document);
}

export interface AgentKeysSurface {
  find(agentId: AgentId): Promise<Agent | undefined>;
  readonly log: Log;
}

/**
 * Routes of `/agents/{agent_id}/jwks.json` (specification "Agent registration", rule 3), relative to `/agents`. They serve
 * the public keys in a registration, also those of a disabled agent.
 */
export function agentKeysRouter(surface: AgentKeysSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router
    .route('/:agentId/jwks.json')
    .get((request, response) => publish(surface, request.params.agentId, response))
    .all(methodNotAllowed('GET, HEAD'));
  router.use(unknownPath);
  router.use(answerFaults(surface.log));
  return router;
}

async function publish(surface: AgentKeysSurface, id: string, response: Response): Promise<void> {
  const agentId = parseAgentId(id);
  const agent = agentId === undefined ? undefined : await surface.find(agentId);
  if (agent?.keys.kind !== 'inline') {
    // An unknown agent and an agent with keys elsewhere get the same answer.
    return answerProblem(response, { status: 404, detail: 'No keys are published here.', reason: 'no_inline_keys' });
  }
  answerPublicDocument(response, agent.keys.jwks);
}
