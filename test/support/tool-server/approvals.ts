/** The approvals of the fake control plane: it verifies each request as the real one does, and a test answers for the person. */

import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { answering } from '../loopback.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';
import { AUDIENCE, type FakeControlPlane } from './control-plane.ts';

export interface AskedApproval {
  readonly token: string;
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>> & { readonly digest: string };
}

export interface FakeApprovals {
  readonly key: SigningKey;
  /** Every verified request for approval, in order. */
  readonly asked: AskedApproval[];
  /** The page of the approval for a digest. */
  uri(digest: string): string;
  /** The person's yes to the digest, which answers `granted` once, and then `spent`. */
  approve(digest: string): void;
  /** Every further request for the digest gets this state. @param says with a no: why not */
  answer(digest: string, state: string, says?: string): void;
}

/** @param seconds the time of the tool server, in seconds since the epoch */
export async function fakeApprovals(plane: FakeControlPlane, seconds: () => number): Promise<FakeApprovals> {
  const key = await makeSigningKey('ES256');
  const states = new Map<string, string>();
  const lines = new Map<string, string>();
  const seen = new Set<unknown>();
  const approvals: FakeApprovals = {
    key,
    asked: [],
    uri: (digest) => `${plane.issuer}/me/approvals/apr_${digest}`,
    approve: (digest) => void states.set(digest, 'granted'),
    answer(digest, state, says) {
      states.set(digest, state);
      if (says !== undefined) lines.set(digest, says);
    },
  };
  plane.answerApproval = (request, response) => {
    const form = new URLSearchParams(request.body);
    const checks = { issuer: AUDIENCE, audience: plane.issuer, typ: 'approval-request+jwt', algorithms: ['ES256'] };
    const text = form.get('request') ?? '';
    jwtVerify(text, createPublicKey(key.privateKey), { ...checks, currentDate: new Date(seconds() * 1000) }).then(
      ({ protectedHeader, payload }) => {
        const { digest, jti } = payload as { digest: string; jti: string };
        if (seen.has(jti)) return answering({ error: 'invalid_request' }, 400)(request, response);
        seen.add(jti);
        approvals.asked.push({
          token: form.get('token') ?? '',
          header: protectedHeader,
          claims: { ...payload, digest },
        });
        const state = states.get(digest) ?? 'pending';
        if (state === 'granted') states.set(digest, 'spent');
        const waiting = {
          approval_id: `apr_${digest}`,
          approval_uri: approvals.uri(digest),
          expires_in: 600,
          interval: 5,
        };
        const says = lines.get(digest);
        const more = state === 'pending' ? waiting : says !== undefined && { person_says: says };
        return answering({ state, ...more })(request, response);
      },
      () => answering({ error: 'invalid_request' }, 400)(request, response),
    );
  };
  return approvals;
}
