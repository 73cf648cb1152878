/** The settings of a signing key that several instances share, as replicas do. */

import { generateKeyPairSync } from 'node:crypto';

export function sharedSigningKey(): Readonly<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { 'Service:Signing:Keys:0:Pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
