/** A tool server that asks for approvals: its key, and the requests that it signs. */

import { createHash, randomUUID } from 'node:crypto';
import type { Mandate } from '../mandate.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';

export interface AskingServer {
  readonly audience: string;
  readonly key: SigningKey;
  /** Signs a request about the task. Given claims and header members replace the defaults; `undefined` removes one. */
  request(taskId: unknown, claims?: object, header?: object): string;
}

/** SHA-256 of the text, in base64url. */
export const digestOf = (what: string) => createHash('sha256').update(what).digest('base64url');

/** @param now whole seconds, by the clock of the service */
export async function askingServer(
  audience: string,
  { issuer, now }: { readonly issuer: () => string; readonly now: () => number },
): Promise<AskingServer> {
  const key = await makeSigningKey('ES256');
  return {
    audience,
    key,
    request: (taskId, claims = {}, header = {}) =>
      key.sign(
        { alg: 'ES256', typ: 'approval-request+jwt', kid: key.kid, ...header },
        {
          iss: audience,
          aud: issuer(),
          iat: now(),
          exp: now() + 60,
          jti: randomUUID(),
          task_id: taskId,
          digest: digestOf('delete 7'),
          title: 'Delete the issue',
          lines: [{ label: 'Issue', value: 'PAY-7: “é 😀”' }],
          ...claims,
        },
      ),
  };
}

/** Public keys as in the setting `Service:Approvals:Resources:N:Jwks`. */
export const jwksOf = (...servers: readonly Pick<AskingServer, 'key'>[]) =>
  JSON.stringify({ keys: servers.map(({ key }) => key.publicJwk) });

/** Approvals are on, and these tool servers may ask. A service also needs the client id of the page. */
export function approvalSettings(...servers: readonly Pick<AskingServer, 'audience' | 'key'>[]) {
  const settings: Record<string, string> = { 'Service:Approvals:Enabled': 'true' };
  for (const [index, server] of servers.entries()) {
    settings[`Service:Approvals:Resources:${index}:Audience`] = server.audience;
    settings[`Service:Approvals:Resources:${index}:Jwks`] = jwksOf(server);
  }
  return settings;
}

/** Sends a request with the task's token. */
export function asks({ post }: Pick<Mandate, 'post'>, token: unknown, request: string) {
  return post('/oauth2/approval', { token: String(token), request });
}

/** Approvals are on, and some tool server may ask. */
export const SOME_APPROVALS = {
  'Service:Approvals:Enabled': 'true',
  'Service:Me:ClientId': 'the-page',
  'Service:Approvals:Resources:0:Audience': 'https://files.example/mcp',
  'Service:Approvals:Resources:0:JwksUri': 'https://files.example/keys',
} as const;
