/** A new signing key for the service, as an operator keeps it: EC P-256, PKCS#8 PEM (decisions "How it runs"). */

import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import type { Jwk } from '../../domain/agents/jwk.ts';
import { Secret } from '../../domain/secret.ts';
import type { SigningKey } from './signing-key.ts';

const generate = promisify(generateKeyPair);

/** The text of a PEM file, with its line feed. */
export async function newSigningKeyPem(): Promise<Secret> {
  const { privateKey } = await generate('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return new Secret(privateKey);
}

/** RFC 7638: the same for the same key, whatever it is called. */
export function thumbprintOf({ publicJwk }: Pick<SigningKey, 'publicJwk'>): Promise<string> {
  const { kty, crv = '', x = '', y = '' }: Jwk = publicJwk;
  return calculateJwkThumbprint({ kty, crv, x, y });
}
