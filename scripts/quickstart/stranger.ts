/** A third party with only the issuer's URL and a library for signed tokens (`jose`). */

import { createRemoteJWKSet, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import { send, text } from './http.ts';
import { StoryBroke } from './story-broke.ts';

export async function verifyAsStranger(
  issuer: string,
  token: string,
  audience: string,
): Promise<JWTVerifyResult<JWTPayload>> {
  const metadata = await send(`${issuer}/.well-known/openid-configuration`);
  const keys = createRemoteJWKSet(new URL(text(metadata, 'jwks_uri')));
  try {
    return await jwtVerify(token, keys, { issuer, audience, typ: 'at+jwt', algorithms: ['ES256'] });
  } catch (error) {
    throw new StoryBroke(
      `A third party should be able to verify the task token, but verification failed: ${String(error)}`,
    );
  }
}
