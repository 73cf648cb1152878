/**
 * Generates a signing key for the service in the operator's file format: EC P-256, PKCS#8 PEM (decisions "How it
 * runs").
 */

import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import type { Jwk } from '../../domain/agents/jwk.ts';
import { Secret } from '../../domain/secret.ts';
import type { SigningKey } from './signing-key.ts';

const generate = promisify(generateKeyPair);

/** The text of a PEM file, with a trailing line feed. */
export async function newSigningKeyPem(): Promise<Secret> {
  const { privateKey } = await generate('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return new Secret(privateKey);
}

/** RFC 7638: depends only on the key material, not on the name. */
export function thumbprintOf({ publicJwk }: Pick<SigningKey, 'publicJwk'>): Promise<string> {
  const { kty, crv = '', x = '', y = '' }: Jwk = publicJwk;
  return calculateJwkThumbprint({ kty, crv, x, y });
}
