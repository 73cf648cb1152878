/**
 * The agent's side: its key, and the requests of an exchange in full. The rest of the quickstart uses `@mandate/agent`. An
 * agent in another language sends the same requests.
 */

import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { AGENT_ID } from './authority.ts';
import { send, text } from './http.ts';

export interface AgentIdentity {
  readonly id: string;
  readonly kid: string;
  /** The private key, which never leaves the agent. */
  readonly pem: string;
  /** The public key, which the registration contains. */
  readonly jwks: { readonly keys: readonly object[] };
}

export type Form = Readonly<Record<string, string>>;

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

export function makeIdentity(): AgentIdentity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = 'quickstart-1';
  return {
    id: AGENT_ID,
    kid,
    pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] },
  };
}

/** Reads the addresses of the endpoints from the metadata (RFC 8414). */
export async function discover(issuer: string): Promise<{ readonly token: string; readonly introspection: string }> {
  const metadata = await send(`${issuer}/.well-known/openid-configuration`);
  return { token: text(metadata, 'token_endpoint'), introspection: text(metadata, 'introspection_endpoint') };
}

/** The form of RFC 8693 §2.1, with the agent's assertion (RFC 7523 §2.2) as the actor token. */
export async function exchangeForm(
  { id, kid, pem }: AgentIdentity,
  issuer: string,
  wish: { readonly subjectToken: string; readonly resource: string; readonly scope: readonly string[] },
): Promise<Form> {
  const assertion = await new SignJWT({ instance: 'by-hand' })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid })
    .setIssuer(id)
    .setSubject(id)
    .setAudience(issuer)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1 minute')
    .sign(createPrivateKey(pem));
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: wish.subjectToken,
    subject_token_type: ACCESS_TOKEN,
    actor_token: assertion,
    actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    requested_token_type: ACCESS_TOKEN,
    resource: wish.resource,
    scope: wish.scope.join(' '),
  };
}
