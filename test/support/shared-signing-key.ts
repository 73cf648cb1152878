/** The settings of one signing key, for all replicas of a service. */

import { generateKeyPairSync, type KeyObject } from 'node:crypto';

export function sharedSigningKey(): Readonly<Record<string, string>> {
  return signingKeySettings(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** For tests that themselves sign tokens with the service's key. */
export function signingKeySettings(privateKey: KeyObject): Readonly<Record<string, string>> {
  return { 'Service:Signing:Keys:0:Pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
