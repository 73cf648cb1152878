import { expect } from 'chai';
import { validateSubjectToken } from '../../../application/authentication/validate-subject-token.ts';
import type { ProviderKeys, SignatureFault } from '../../../application/ports/keys.ts';
import { instantFromSeconds, toSeconds } from '../../../domain/instant.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { agreeing } from '../../support/moved-clock.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';

const ISSUER = 'https://idp.example';
const NOW = toSeconds(NOON);
const good = {
  iss: ISSUER,
  aud: 'https://mandate.example',
  sub: 'ada',
  oid: 'object-7',
  iat: NOW - 5,
  exp: NOW + 300,
  scope: 'jira:read',
};

describe('validating a subject token', () => {
  let key: SigningKey;
  /** Every signature verification returns this. */
  let verdict: Awaited<ReturnType<ProviderKeys['verify']>>;
  let asked: number;
  before(async () => {
    key = await makeSigningKey('ES256');
  });
  beforeEach(() => {
    verdict = { kind: 'verified', issuer: ISSUER };
    asked = 0;
  });

  const validate = (token: string) =>
    validateSubjectToken(
      {
        providerKeys: {
          async verify() {
            asked += 1;
            return verdict;
          },
          lastFetchedAt: () => NOON,
        },
        clock: { now: () => NOON },
        sharedTime: agreeing({ now: () => NOON }),
        audience: good.aud,
        sponsorKeyClaim: 'oid',
        refuseBound: false,
      },
      token,
    );
  const signed = (claims: object = {}, typ = 'at+jwt') => key.sign({ alg: 'ES256', typ }, { ...good, ...claims });

  it('returns the person', async () => {
    expect(await validate(signed())).to.deep.equal({
      kind: 'allowed',
      value: {
        subject: 'ada',
        sponsorKey: 'object-7',
        sessionId: undefined,
        scope: ['jira:read'],
        issuedAt: instantFromSeconds(NOW - 5),
        authenticatedAt: undefined,
        issuer: ISSUER,
      },
    });
  });

  for (const [what, token] of [
    ['text that is not a JWS', () => 'a.b.c'],
    ['a token that names a member twice', () => key.sign({ alg: 'ES256' }, '{"sub":"ada","sub":"grace"}')],
    ['a logout token', () => signed({}, 'logout+jwt')],
    ['a security event, by its claims', () => signed({ events: {} }, 'JWT')],
  ] as const) {
    it(`refuses ${what} before it verifies a signature`, async () => {
      expect(await validate(token())).to.deep.equal({ kind: 'denied', denial: { reason: 'subject_malformed' } });
      expect(asked).to.equal(0);
    });
  }

  const reasons: Readonly<Record<SignatureFault, string>> = {
    unsupported_algorithm: 'subject_unsupported_algorithm',
    no_registered_keys: 'subject_keys_unavailable',
    keys_unavailable: 'subject_keys_unavailable',
    unknown_key: 'subject_unknown_key',
    key_mismatch: 'subject_key_mismatch',
    invalid_signature: 'subject_invalid_signature',
  };
  for (const [fault, reason] of Object.entries(reasons)) {
    it(`refuses with ${reason}, without naming a person, if verification ends with ${fault}`, async () => {
      verdict = { kind: fault as SignatureFault };
      expect(await validate(signed())).to.deep.equal({ kind: 'denied', denial: { reason } });
    });
  }

  it('compares iss with the issuer whose keys verified the signature', async () => {
    verdict = { kind: 'verified', issuer: 'https://moved.example' };
    expect(await validate(signed())).to.deep.nested.include({ 'denial.reason': 'subject_untrusted_issuer' });
    expect((await validate(signed({ iss: 'https://moved.example' }))).kind).to.equal('allowed');
    verdict = { ...verdict, accessTokenIssuer: 'http://adfs.example/trust' };
    expect(await validate(signed({ iss: 'http://adfs.example/trust' }))).to.deep.nested.include({
      kind: 'allowed',
      'value.issuer': 'https://moved.example',
    });
    for (const iss of ['https://moved.example', ISSUER]) {
      expect(await validate(signed({ iss }))).to.deep.nested.include({ 'denial.reason': 'subject_untrusted_issuer' });
    }
  });

  it('refuses with the first of several faults, and names the person only if that fault comes after the check of the sub', async () => {
    expect(await validate(signed({ aud: 'account', act: {}, oid: undefined }))).to.deep.equal({
      kind: 'denied',
      denial: { reason: 'subject_audience_mismatch', about: { sponsor: undefined } },
    });
    expect(await validate(signed({ act: {}, oid: undefined, sid: 7 }))).to.deep.equal({
      kind: 'denied',
      denial: { reason: 'subject_already_delegated', about: { sponsor: 'ada' } },
    });
  });

  it('names the person of a refusal only if the sub may be a person', async () => {
    const outcome = await validate(signed({ oid: undefined }));
    expect(outcome).to.deep.equal({
      kind: 'denied',
      denial: { reason: 'sponsor_key_missing', about: { sponsor: 'ada' } },
    });
    const agent = await validate(signed({ sub: 'agent:x' }));
    expect(agent).to.deep.equal({
      kind: 'denied',
      denial: { reason: 'subject_is_agent', about: { sponsor: undefined } },
    });
  });
});
