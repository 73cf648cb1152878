/** The key that signs a tool server's requests for approval. */

import { REQUEST_TYPE } from '../../../../domain/approvals/approval-request.ts';
import type { Check } from '../../arguments.ts';
import { jwsSigner, type SignJws, signingKey } from '../../signing-key.ts';

/**
 * The key that signs requests for approval, for ES256: one of
 * - a private JWK with its `kid`;
 * - a PEM text (PKCS#8 or SEC1, not encrypted) and its `kid`;
 * - a signer, for a key in a KMS or an HSM. It returns `r` and `s`, 64 bytes, not DER.
 */
export type ApprovalKey =
  | { readonly jwk: Readonly<Record<string, unknown>> }
  | { readonly pem: string; readonly kid: string }
  | {
      readonly alg: 'ES256';
      readonly kid: string;
      sign(input: Uint8Array): Promise<Uint8Array> | Uint8Array;
    };

const ALGORITHMS = ['ES256'] as const;

export const approvalKey: Check = signingKey({ algorithms: ALGORITHMS, needsKeyId: true });

/** @param key was accepted by `approvalKey` */
export function requestSigner(key: ApprovalKey): SignJws {
  return jwsSigner(key, REQUEST_TYPE, ALGORITHMS);
}
