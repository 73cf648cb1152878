/** The metadata document of a program, whose address is its `client_id` (draft-ietf-oauth-client-id-metadata-document). */

import type { AgentKey } from '../agents/agent-key.ts';
import { answering, startLoopback } from '../loopback.ts';

export interface ClientDocument {
  readonly address: string;
  close(): Promise<void>;
}

/** @param jwks the program's keys; without them only PKCE authenticates it */
export async function serveDocument(redirectUris: readonly string[], jwks?: AgentKey['jwks']): Promise<ClientDocument> {
  const server = await startLoopback(answering({}), { tls: true });
  const address = `${server.url}/triage/client.json`;
  server.answer = answering({
    client_id: address,
    client_name: 'Triage',
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    ...(jwks === undefined
      ? { token_endpoint_auth_method: 'none' }
      : { token_endpoint_auth_method: 'private_key_jwt', jwks }),
  });
  return { address, close: () => server.close() };
}
