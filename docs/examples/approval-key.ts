/** Makes the key with which a tool server asks for approvals: the private JWK, and its public half as a key set. */

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const named = { kid: randomUUID(), alg: 'ES256', use: 'sig' };
const keys = [{ ...publicKey.export({ format: 'jwk' }), ...named }];

// Never overwrites a file. Only its owner may read the private key.
writeFileSync('approval-key.json', JSON.stringify({ ...privateKey.export({ format: 'jwk' }), ...named }), {
  flag: 'wx',
  mode: 0o600,
});
writeFileSync('approval-jwks.json', JSON.stringify({ keys }), { flag: 'wx' });
