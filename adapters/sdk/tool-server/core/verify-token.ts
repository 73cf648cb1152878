/** Verifies that the control plane that a token names signed it for this server (specification "Tool-server contract" 2). */

import type { IncomingHttpHeaders } from 'node:http';
import { TASK_TOKEN_TYPE } from '../../../../domain/tasks/task-token.ts';
import type { Claims } from '../../../../domain/tokens/claims.ts';
import { readCompactJws } from '../../../../domain/tokens/compact-jws.ts';
import { type Expected, judgeClaims, type TaskTokenClaims } from './claims.ts';
import type { Issuer, Issuers } from './issuers.ts';
import type { RefusalDetail, RefusalReason } from './refusal.ts';
import { signatureFault } from './signature-fault.ts';

type TokenVerdict =
  | {
      readonly kind: 'verified';
      readonly claims: TaskTokenClaims;
      readonly signed: Claims;
      /** The control plane that signed it. */
      readonly issuer: Issuer;
    }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly detail?: RefusalDetail;
      /** The token's claims, if its control plane signed them. */
      readonly signed?: Claims;
    };

/** Node's limit for all headers of a request. Real tokens are far shorter. */
const MAX_TOKEN_LENGTH = 16 * 1024;

/** @param cause the headers of the request that carries the token */
export async function verifyToken(
  issuers: Pick<Issuers, 'choose'>,
  text: string,
  expected: Omit<Expected, 'issuer'>,
  cause?: IncomingHttpHeaders,
): Promise<TokenVerdict> {
  const jws = text.length <= MAX_TOKEN_LENGTH ? readCompactJws(text) : undefined;
  if (jws === undefined) return { kind: 'refused', reason: 'malformed_token' };
  // Read before the signature, which only the keys of this control plane can verify.
  const issuer = issuers.choose(jws.claims.issuer);
  if (issuer === undefined) return { kind: 'refused', reason: 'wrong_issuer' };
  const fault = await signatureFault(issuer.keys, jws, TASK_TOKEN_TYPE, cause);
  if (fault !== undefined) return { kind: 'refused', ...fault };

  const verdict = judgeClaims(jws.claims, { ...expected, issuer: issuer.issuer });
  if (verdict.kind === 'accepted') return { kind: 'verified', claims: verdict.claims, signed: jws.claims, issuer };
  const isOurs = verdict.reason !== 'wrong_issuer';
  return { kind: 'refused', reason: verdict.reason, ...(isOurs && { signed: jws.claims }) };
}
