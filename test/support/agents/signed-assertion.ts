/** Keys of a test's agents, and assertions that they sign. */

import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';

export const CLAIMS = { iss: 'jira-triage', jti: 'a-jti' };

export const [es, rs, ps, stranger] = await Promise.all([
  makeSigningKey('ES256'),
  makeSigningKey('RS256'),
  makeSigningKey('PS256'),
  makeSigningKey('ES256'),
]);

export function without(key: object, ...names: readonly string[]): object {
  return Object.fromEntries(Object.entries(key).filter(([name]) => !names.includes(name)));
}

export function jwsBy(key: SigningKey, header: object = {}) {
  const jws = readCompactJws(key.sign({ alg: key.alg, kid: key.kid, ...header }, CLAIMS));
  if (jws === undefined) throw new Error('malformed');
  return jws;
}
