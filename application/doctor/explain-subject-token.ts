/**
 * Explains claim by claim why a person's access token would be accepted or refused. The verdict comes from the
 * validation that an exchange uses. The findings show neither the token nor a claim that names the person.
 */

import { type DenialReason, describeDenial } from '../../domain/denial.ts';
import { durationInWords } from '../../domain/duration.ts';
import { toSeconds } from '../../domain/instant.ts';
import { type MachineMark, machineMark } from '../../domain/sponsors/machine-token.ts';
import {
  isIdToken,
  isSubjectTokenType,
  judgeSubjectToken,
  type Person,
  personScope,
  type SubjectReason,
} from '../../domain/sponsors/subject-token.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { type CompactJws, readProviderJws } from '../../domain/tokens/compact-jws.ts';
import { type JsonObject, member } from '../../domain/tokens/strict-json.ts';
import { type SubjectValidation, validateSubjectToken } from '../authentication/validate-subject-token.ts';
import type { Outcome } from '../outcome.ts';
import { type Finding, failed, type NamedFinding, ok, skipped, warning } from './examine.ts';
import { explainMayAct, type MayActSources } from './explain-may-act.ts';
import { quoteSafely } from './quote.ts';
import { judgeTokenWithoutSession, type LogoutSettings } from './signals.ts';

interface SubjectTokenExplanation extends SubjectValidation, LogoutSettings, MayActSources {
  /** The issuer of the provider's access tokens; `undefined` if its metadata cannot be read. */
  readonly issuer: string | undefined;
}

interface ExplainedToken {
  readonly findings: readonly NamedFinding[];
  /** The person of an accepted token. */
  readonly person: Person | undefined;
}

export async function explainSubjectToken(service: SubjectTokenExplanation, token: string): Promise<ExplainedToken> {
  const outcome = await validateSubjectToken(service, token);
  const findings = await describeToken(service, token);
  const claims = readProviderJws(token)?.claims;
  const mayAct = claims && (await explainMayAct(service, claims));
  return {
    findings: [
      ...findings,
      ...(mayAct === undefined ? [] : [{ check: 'token may_act', ...mayAct.finding }]),
      { check: 'verdict', ...describeVerdict(outcome, mayAct?.reason) },
    ],
    person: outcome.kind === 'allowed' ? outcome.value : undefined,
  };
}

async function describeToken(service: SubjectTokenExplanation, token: string): Promise<readonly NamedFinding[]> {
  const jws = readProviderJws(token);
  if (jws === undefined) {
    const form = failed(
      'It is no JWT in its one canonical form: three segments of base64url, JSON without a member named twice, dates in whole seconds, no crit.',
      'Present an access token that is a JWT (RFC 9068): an opaque one, or an encrypted one, cannot be validated.',
    );
    return [{ check: 'token form', ...form }];
  }
  // First: a token without a person is the wrong token, and nothing else about it needs a remedy.
  return [
    { check: 'token person', ...describePerson(jws.claims.json) },
    { check: 'token form', ...describeForm(jws) },
    { check: 'token signature', ...(await describeSignature(service, jws)) },
    ...describeClaims(service, jws.claims),
  ];
}

/** @param mayActReason why `may_act` would refuse the token: checked after the token, and before its scopes */
function describeVerdict(outcome: Outcome<Person>, mayActReason: DenialReason | undefined): Finding {
  const isUseful = outcome.kind === 'allowed' && outcome.value.scope.length > 0;
  if (isUseful && mayActReason === undefined) return ok('The token would be accepted as a subject token.');
  // The intersection with what an agent may have is empty whatever the agent asks for.
  const reason = outcome.kind === 'allowed' ? (mayActReason ?? 'scope_intersection_empty') : outcome.denial.reason;
  const { error, sentence } = describeDenial(reason);
  return failed(
    `The token would be refused with ${error}, reason ${reason}: ${sentence}`,
    'See docs/refusals.md, and the lines above.',
  );
}

const MACHINE_SENTENCES: Readonly<Record<MachineMark, string>> = {
  sub_is_client: 'Its sub is the client itself',
  gty: 'Its gty says client credentials',
  idtyp: 'Its idtyp says app',
  sub_is_oid: 'Its sub is the oid of an application',
  service_account: 'Its preferred_username is that of a service account',
};

function describePerson(claims: JsonObject): Finding {
  const mark = machineMark(claims);
  if (mark === undefined) return ok('No claim says that a client got it for itself.');
  return failed(
    `No person is behind it. ${MACHINE_SENTENCES[mark]}: an application got it for itself, with client credentials.`,
    'Present the access token that the application got when the person signed in.',
  );
}

function describeForm(jws: CompactJws): Finding {
  const type = jws.type === undefined ? 'no typ' : `typ ${quoteSafely(jws.type)}`;
  if (isSubjectTokenType(jws)) return ok(`It is a JWT, with ${type}.`);
  return failed(
    `It is ${isIdToken(jws.claims.json) ? 'an ID token by its claims' : 'a JWT, but no access token'} (${type}).`,
    'Present the access token, not an ID token, a logout token or a security event token.',
  );
}

async function describeSignature({ providerKeys }: SubjectTokenExplanation, jws: CompactJws): Promise<Finding> {
  const named = `alg ${quoteSafely(jws.algorithm)}, ${jws.keyId === undefined ? 'no kid' : `kid ${quoteSafely(jws.keyId)}`}`;
  const { kind } = await providerKeys.verify(jws);
  switch (kind) {
    case 'verified':
      return ok(`A published key of the identity provider made its signature (${named}).`);
    case 'keys_unavailable':
    case 'no_registered_keys':
      return failed(
        `The identity provider's keys could not be fetched (${named}).`,
        'Run `mandate doctor`, which says why.',
      );
    case 'unsupported_algorithm':
      return failed(
        `Its algorithm is not accepted (${named}).`,
        'Have the provider sign with RS, PS or ES 256 to 512, or EdDSA.',
      );
    case 'unknown_key':
      return failed(
        `The identity provider publishes no such key (${named}).`,
        'See whether another provider, or another realm of it, issued the token.',
      );
    case 'key_mismatch':
      return failed(
        `The published key does not fit its algorithm (${named}).`,
        'See what the provider publishes at its jwks_uri.',
      );
    case 'invalid_signature':
      return failed(
        `Its signature is not that of the published key (${named}).`,
        'See that it was copied whole, and is one for this service: some providers sign tokens for their own APIs so that no other service can verify them.',
      );
  }
}

/** Judges a claim: the finding is `failed` if one of these reasons refuses the token, otherwise `ok`. */
type Judge = (check: string, reasons: readonly SubjectReason[], sentence: string, remedy: string) => NamedFinding;

function describeClaims(service: SubjectTokenExplanation, read: Claims): readonly NamedFinding[] {
  const { json: claims } = read;
  const now = service.clock.now();
  const expected = { ...service, issuer: service.issuer ?? read.issuer ?? '', now, latest: now };
  const verdict = judgeSubjectToken(read, expected);
  const faults = verdict.kind === 'refused' ? verdict.faults : [];
  const judged: Judge = (check, reasons, sentence, remedy) => {
    const isFault = reasons.some((reason) => faults.includes(reason));
    return { check, ...(isFault ? failed(sentence, remedy) : ok(sentence)) };
  };
  return [
    describeIssuer(judged, service, read.issuer),
    judged(
      'token exp',
      ['subject_missing_expiry', 'subject_expired'],
      describeExpiry(read.expiry, toSeconds(now)),
      'Get a new token; if it is new, compare the clocks with `mandate doctor`.',
    ),
    judged(
      'token iat, nbf',
      ['subject_not_yet_valid'],
      faults.includes('subject_not_yet_valid') ? 'iat or nbf is in the future.' : 'iat and nbf are not in the future.',
      'Compare the clocks with `mandate doctor`.',
    ),
    judged(
      'token aud',
      ['subject_audience_mismatch'],
      describeAudiences(service, read.audience),
      'Ask the provider for a token for this audience, or see Service:UpstreamIdp:Audience and Service:Me:Audience.',
    ),
    judged(
      'token sub',
      ['subject_missing_subject', 'subject_sub_malformed', 'subject_is_agent', 'subject_not_a_person'],
      describeSub(member(claims, 'sub'), faults),
      'A person, with a sub of 1 to 256 characters, must be who the token is about.',
    ),
    judged(
      'token act',
      ['subject_already_delegated'],
      member(claims, 'act') === undefined
        ? 'There is no act: no agent acts for the person yet.'
        : 'act says that an agent acts for the person already.',
      'The person must present their own token.',
    ),
    { check: 'token cnf', ...describeBinding(service, claims) },
    judged(
      'token sponsor key',
      ['sponsor_key_missing'],
      `${quoteSafely(service.sponsorKeyClaim)} is ${faults.includes('sponsor_key_missing') ? 'missing, or not usable as a sponsor key' : 'there'}.`,
      'Have the provider put the claim into its access tokens: 1 to 256 characters, no white space; or see Service:UpstreamIdp:SponsorKeyClaim.',
    ),
    describeSession(judged, service, claims),
    describeScopes(claims, service.scopeClaim),
  ];
}

function describeIssuer(judged: Judge, { issuer }: SubjectTokenExplanation, iss: string | undefined): NamedFinding {
  const fromIssuer = `iss is ${iss === undefined ? 'missing' : quoteSafely(iss)}`;
  if (issuer === undefined) {
    return { check: 'token iss', ...skipped(`${fromIssuer}; the identity provider could not be asked for its own.`) };
  }
  return judged(
    'token iss',
    ['subject_untrusted_issuer'],
    `${fromIssuer}; that of the identity provider's access tokens is ${quoteSafely(issuer)}.`,
    'The two must be the same, letter by letter: see which provider issued the token, and Service:UpstreamIdp.',
  );
}

function describeSession(judged: Judge, service: SubjectTokenExplanation, claims: JsonObject): NamedFinding {
  if ((member(claims, 'sid') ?? undefined) === undefined) {
    return { check: 'token sid', ...judgeTokenWithoutSession(service) };
  }
  return judged(
    'token sid',
    ['subject_malformed'],
    'sid names a session.',
    'A sid that is there must be a text of 1 to 256 characters.',
  );
}

function describeAudiences(
  { audience, foreignAudience }: SubjectTokenExplanation,
  audiences: readonly string[] | undefined,
): string {
  const found = audiences === undefined ? 'missing' : audiences.map(quoteSafely).join(', ');
  const isForeign = foreignAudience !== undefined && audiences?.includes(foreignAudience);
  const without = isForeign ? ` without ${quoteSafely(foreignAudience)}` : '';
  return `aud is ${found}; expected is ${quoteSafely(audience)}${without}.`;
}

function describeExpiry(expiry: number | undefined, now: number): string {
  if (expiry === undefined) return 'exp is missing.';
  const left = expiry - now;
  if (left === 0) return 'It expires now.';
  return left > 0 ? `It expires in ${durationInWords(left)}.` : `It expired ${durationInWords(-left)} ago.`;
}

function describeSub(sub: unknown, faults: readonly SubjectReason[]): string {
  if (sub === undefined) return 'sub is missing.';
  if (faults.includes('subject_sub_malformed'))
    return 'sub is no text of 1 to 256 characters without control characters.';
  if (faults.includes('subject_is_agent')) return 'sub names an agent.';
  return faults.includes('subject_not_a_person') ? 'sub names a client.' : 'sub names a person.';
}

function describeBinding({ refuseBound }: SubjectTokenExplanation, claims: JsonObject): Finding {
  if (member(claims, 'cnf') === undefined) return ok('There is no cnf: the token is bound to no key.');
  const sentence =
    'cnf binds the token to a key. The service does not check the key, and a task token is a bearer token.';
  return refuseBound
    ? failed(sentence, 'Present a token without cnf, or see Service:UpstreamIdp:RefuseBoundTokens.')
    : warning(sentence, 'To refuse such tokens, set Service:UpstreamIdp:RefuseBoundTokens.');
}

function describeScopes(claims: JsonObject, scopeClaim: string | undefined): NamedFinding {
  const held = personScope(claims, scopeClaim);
  const finding =
    held.length === 0
      ? failed(
          `${scopeClaim === undefined ? 'Neither scope nor scp grants' : 'The claim of Service:UpstreamIdp:ScopeClaim does not grant'} anything: every exchange ends with invalid_scope.`,
          'Ask the provider for the scopes that the agent is to use. If it names them in another claim, set Service:UpstreamIdp:ScopeClaim.',
        )
      : ok(`The person holds ${held.map(quoteSafely).join(', ')}.`);
  return { check: 'token scopes', ...finding };
}
