/** Validates the person's access token (specification "Exchange" rules 3 and 5). */

import { isSubjectTokenType, judgeSubjectToken, type Person } from '../../domain/sponsors/subject-token.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { readProviderJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { allowed, denied, type Outcome } from '../outcome.ts';
import { type HeldPermit, type ProviderKeys, providerFault } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';

export interface SubjectValidation {
  readonly providerKeys: ProviderKeys;
  readonly clock: Clock;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
  /** `Service:UpstreamIdp:Audience`; at `/me`, `Service:Me:Audience`; of an operator, `Service:Operators:Audience`. */
  readonly audience: string;
  /** An audience that the token must not have as well. */
  readonly foreignAudience?: string | undefined;
  /** `Service:UpstreamIdp:SponsorKeyClaim`. */
  readonly sponsorKeyClaim: string;
  /** `Service:UpstreamIdp:RefuseBoundTokens`, for every access token that is presented here. */
  readonly refuseBound: boolean;
  /** `Service:UpstreamIdp:ScopeClaim`. Only an exchange reads scopes. */
  readonly scopeClaim?: string | undefined;
}

/** The person of an accepted access token. */
interface TokenPerson extends Person {
  /** The provider's issuer. It is that of the person's ID tokens too, while the `iss` of access tokens may be another. */
  readonly issuer: string;
}

/** If `sub` is known to name a person, a refusal's `about` holds it. The caller adds the other fields. */
export async function validateSubjectToken(
  validation: SubjectValidation,
  subjectToken: string,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<TokenPerson>> {
  const outcome = await readSubjectToken(validation, subjectToken, trace, permit);
  return outcome.kind === 'denied' ? outcome : allowed(outcome.value.person);
}

/** Like {@link validateSubjectToken}, with all claims of an accepted token. */
export async function readSubjectToken(
  validation: SubjectValidation,
  subjectToken: string,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<{ readonly person: TokenPerson; readonly claims: Claims }>> {
  const { providerKeys, clock, sharedTime, audience, foreignAudience, sponsorKeyClaim, refuseBound, scopeClaim } =
    validation;
  const jws = readProviderJws(subjectToken);
  if (jws === undefined || !isSubjectTokenType(jws)) return denied('subject_malformed');
  const signature = await providerKeys.verify(jws, trace, permit);
  if (signature.kind !== 'verified') return denied(`subject_${providerFault(signature.kind)}`);
  const { issuer, accessTokenIssuer = issuer } = signature;
  // Listed, because `validation` is the whole use case of an exchange: a copy of it would cost more than the checks.
  const verdict = judgeSubjectToken(jws.claims, {
    issuer: accessTokenIssuer,
    audience,
    foreignAudience,
    sponsorKeyClaim,
    refuseBound,
    scopeClaim,
    latest: await sharedTime.latest(),
    now: clock.now(),
  });
  if (verdict.kind === 'refused') {
    // `faults` has at least one element; refuse even if it is empty.
    const [first = 'subject_malformed'] = verdict.faults;
    return denied(first, { about: { sponsor: verdict.subject } });
  }
  return allowed({ person: { ...verdict.person, issuer }, claims: jws.claims });
}
