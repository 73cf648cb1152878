/** A Shared Signals transmitter: a server with metadata and keys, and the security event tokens that it signs. */

import { randomUUID } from 'node:crypto';
import { answering, type Loopback, startLoopback } from './loopback.ts';
import { scimSettings } from './scim-client.ts';
import { makeSigningKey, type SigningKey } from './signing-key.ts';

export const STREAM_AUDIENCE = 'https://mandate.test/stream-7';
export const PUSH_CREDENTIAL = 'a-push-credential-that-only-the-tests-know-01';
export const FORMER_PUSH_CREDENTIAL = 'the-push-credential-that-was-there-before-02';
export const PUSH_HEADERS = {
  authorization: `Bearer ${PUSH_CREDENTIAL}`,
  'content-type': 'application/secevent+jwt',
} as const;

/** Settings that turn every receiver on. The transmitter that they name does not answer. */
export const EVERY_RECEIVER = {
  ...scimSettings,
  'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
  'Service:Ssf:Issuer': 'http://127.0.0.1:9/tenant',
  'Service:Ssf:Audience': STREAM_AUDIENCE,
  'Service:Ssf:BearerToken': PUSH_CREDENTIAL,
  'Service:Ssf:PreviousBearerToken': FORMER_PUSH_CREDENTIAL,
} as const;

export interface Transmitter {
  readonly issuer: string;
  readonly server: Loopback;
  readonly key: SigningKey;
  /** Settings with which the service accepts the tokens of this transmitter. */
  readonly settings: Readonly<Record<string, string>>;
  /** A token with a new `jti`. Given claims replace the defaults; `undefined` removes a claim. */
  sign(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  /** A token with one event about the person with this opaque id. */
  event(type: string, id: string, claims?: Readonly<Record<string, unknown>>): string;
  stop(): Promise<void>;
}

/** @param now the service's clock, in seconds since the epoch */
export async function startTransmitter(now: () => number = () => Math.floor(Date.now() / 1000)): Promise<Transmitter> {
  const key = await makeSigningKey('RS256');
  const server = await startLoopback((request, response) => {
    const documents: Readonly<Record<string, unknown>> = {
      '/.well-known/ssf-configuration/tenant-7': { issuer, jwks_uri: `${server.url}/keys`, spec_version: '1_0' },
      '/keys': { keys: [key.publicJwk] },
    };
    const document = documents[request.path];
    answering(document ?? {}, document === undefined ? 404 : 200)(request, response);
  });
  const issuer = `${server.url}/tenant-7`;
  const sign: Transmitter['sign'] = (claims, header = {}) =>
    key.sign(
      { alg: key.alg, typ: 'secevent+jwt', kid: key.kid, ...header },
      { iss: issuer, aud: STREAM_AUDIENCE, iat: now(), jti: randomUUID(), ...claims },
    );
  return {
    issuer,
    server,
    key,
    settings: {
      'Service:Ssf:Issuer': issuer,
      'Service:Ssf:Audience': STREAM_AUDIENCE,
      'Service:Ssf:BearerToken': PUSH_CREDENTIAL,
      'Service:Ssf:PreviousBearerToken': FORMER_PUSH_CREDENTIAL,
    },
    sign,
    event: (type, id, claims) => sign({ sub_id: { format: 'opaque', id }, events: { [type]: {} }, ...claims }),
    stop: () => server.close(),
  };
}
