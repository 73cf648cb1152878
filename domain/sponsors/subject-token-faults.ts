/**
 * Everything that is wrong with a subject token, for whoever has to find out why one is refused: the service stops at
 * the first. Found by its own judge, which is asked again with each fault mended until none is left.
 */

import { toSeconds } from '../instant.ts';
import type { JsonObject } from '../tokens/strict-json.ts';
import { type Expectations, judgeSubjectToken, type SubjectReason } from './subject-token.ts';

const ANYBODY = 'somebody';
const AN_HOUR = 3600;

type Mend = (claims: JsonObject, expected: Expectations) => JsonObject;

const as =
  (name: string, value: JsonObject[string]): Mend =>
  (claims) => ({ ...claims, [name]: value });
const without =
  (name: string): Mend =>
  (claims) =>
    Object.fromEntries(Object.entries(claims).filter(([one]) => one !== name));
const lasting: Mend = (claims, { now }) => ({ ...claims, exp: toSeconds(now) + AN_HOUR });

/** How a claim that the judge refuses becomes one that it takes. */
const MENDS: Partial<Record<SubjectReason, Mend>> = {
  subject_untrusted_issuer: (claims, { issuer }) => ({ ...claims, iss: issuer }),
  subject_missing_expiry: lasting,
  subject_expired: lasting,
  subject_not_yet_valid: (claims, expected) => without('iat')(without('nbf')(claims, expected), expected),
  subject_audience_mismatch: (claims, { audience }) => ({ ...claims, aud: audience }),
  subject_missing_subject: as('sub', ANYBODY),
  subject_sub_malformed: as('sub', ANYBODY),
  subject_is_agent: as('sub', ANYBODY),
  subject_already_delegated: without('act'),
  sponsor_key_missing: (claims, { sponsorKeyClaim }) => ({ ...claims, [sponsorKeyClaim]: ANYBODY }),
  // Of the claims, only a session's can be malformed.
  subject_malformed: without('sid'),
};

/** In the order in which the service would meet them. */
export function subjectTokenFaults(claims: JsonObject, expected: Expectations): readonly SubjectReason[] {
  const faults: SubjectReason[] = [];
  let mended = claims;
  for (;;) {
    const verdict = judgeSubjectToken(mended, expected);
    if (verdict.kind === 'accepted' || faults.includes(verdict.reason)) return faults;
    faults.push(verdict.reason);
    mended = MENDS[verdict.reason]?.(mended, expected) ?? mended;
  }
}
