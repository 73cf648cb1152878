/** Surfaces that one bearer credential opens, or the old and the new one while it is being changed. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import { bearerCredential } from './headers.ts';

export type CredentialVerdict = 'accepted' | CredentialDenialReason;

/** Looks at the Authorization header and nothing else. */
export function bearerKeys(accepted: readonly Secret[]): (request: IncomingMessage) => CredentialVerdict {
  const expected = accepted.map((secret) => hash(secret.reveal()));
  return (request) => {
    const presented = bearerCredential(request);
    if (presented.kind === 'absent') return 'missing_api_key';
    if (presented.kind === 'unusable') return 'invalid_api_key';
    // Hashed first, so that a comparison takes as long for a key of any length; and with each, whichever fits.
    const given = hash(presented.token);
    const fits = expected.map((key) => timingSafeEqual(given, key));
    return fits.includes(true) ? 'accepted' : 'invalid_api_key';
  };
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}
