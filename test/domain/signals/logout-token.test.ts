import { expect } from 'chai';
import { instantFromSeconds } from '../../../domain/instant.ts';
import { judgeLogoutToken, type LogoutVerdict, logoutDenialReasons } from '../../../domain/signals/logout-token.ts';
import { claimsOf } from '../../support/claims.ts';

const NOW = 1_789_653_821;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const good = {
  iss: 'https://idp.example',
  aud: 'people-desk',
  sub: 'ada',
  sid: 'session-3',
  jti: 'logout-7',
  iat: NOW - 5,
  exp: NOW + 115,
  events: { [EVENT]: {} },
};

function judge(changes: Record<string, unknown>, type: string | undefined = 'logout+jwt', latest = NOW): LogoutVerdict {
  const claims = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined));
  return judgeLogoutToken(
    { text: '', algorithm: 'RS256', keyId: undefined, type, claims: claimsOf(claims) },
    {
      issuer: 'https://idp.example',
      audience: 'people-desk',
      now: instantFromSeconds(NOW),
      latest: instantFromSeconds(latest),
    },
  );
}

const refusals: readonly [string, Record<string, unknown>, string][] = [
  ['comes from another issuer', { iss: 'https://idp.example/' }, 'untrusted_issuer'],
  ['has no issuer', { iss: undefined }, 'untrusted_issuer'],
  ['is for another client', { aud: ['mandate', 'account'] }, 'audience_mismatch'],
  ['has no audience', { aud: undefined }, 'audience_mismatch'],
  ['has no iat', { iat: undefined }, 'missing_issued_at'],
  ['was issued in the future, beyond the skew', { iat: NOW + 61 }, 'not_yet_valid'],
  ['begins in the future, beyond the skew', { nbf: NOW + 61 }, 'not_yet_valid'],
  ['is older than ten minutes and the skew', { iat: NOW - 661 }, 'too_old'],
  ['has no jti', { jti: undefined }, 'missing_jti'],
  ['has an empty jti', { jti: '' }, 'missing_jti'],
  ['has a jti that is a number', { jti: 7 }, 'missing_jti'],
  ['has a control character in its jti', { jti: 'a\u0000' }, 'missing_jti'],
  ['expired longer ago than the skew', { exp: NOW - 60 }, 'expired'],
  ['has no events', { events: undefined }, 'not_a_logout_event'],
  ['has events that are a list', { events: [EVENT] }, 'not_a_logout_event'],
  ['carries another event only', { events: { 'https://schemas.example/other': {} } }, 'not_a_logout_event'],
  ['has a nonce', { nonce: 'n-0S6_WzA2Mj' }, 'nonce_present'],
  ['has a nonce that is null', { nonce: null }, 'nonce_present'],
  ['has a sid that is a number', { sid: 7 }, 'malformed'],
  ['has a sid that is false', { sid: false }, 'malformed'],
  ['has a sub that is null', { sub: null }, 'malformed'],
  ['has a sid of null and no sub', { sub: undefined, sid: null }, 'no_subject_or_session'],
  ['has a control character in its sub', { sub: 'ada\u0007' }, 'malformed'],
  ['has a sub of 257 characters', { sub: 'x'.repeat(257) }, 'identifier_too_long'],
  ['has a sid of 257 characters', { sid: 'x'.repeat(257) }, 'identifier_too_long'],
  ['has a jti of 257 characters', { jti: 'x'.repeat(257) }, 'identifier_too_long'],
  ['names neither a person nor a session', { sub: undefined, sid: undefined }, 'no_subject_or_session'],
  ['has an empty sub and sid', { sub: '', sid: '' }, 'no_subject_or_session'],
];

describe('the claims of a logout token', () => {
  for (const [what, changes, check] of refusals) {
    it(`are refused if the token ${what}`, () => {
      expect(judge(changes)).to.deep.equal({ kind: 'refused', reason: `logout_${check}` });
    });
  }

  for (const type of ['at+jwt', 'secevent+jwt', 'client-authentication+jwt', '']) {
    it(`are refused with the typ "${type}", because the same keys sign other kinds of token`, () => {
      expect(judge({}, type)).to.deep.equal({ kind: 'refused', reason: 'logout_not_a_logout_event' });
    });
  }

  it('are checked in the order of the list of reasons, and the first fault is reported', () => {
    const order = logoutDenialReasons.slice(logoutDenialReasons.indexOf('logout_untrusted_issuer'));
    const faults: Record<string, Record<string, unknown>> = {};
    // One fault for each reason. `malformed` is out of order, because it is found while the identifiers are read.
    for (const [, changes, check] of refusals) faults[`logout_${check}`] ??= changes;
    for (const [at, reason] of order.entries()) {
      // A token can have only one of the three faults of `iat`.
      const later = order.slice(at + 1).filter((other) => !/issued_at|not_yet_valid|too_old/.test(other));
      const changes = Object.assign({}, ...later.map((other) => faults[other]), faults[reason]);
      expect(judge(changes)).to.deep.equal({ kind: 'refused', reason });
    }
  });

  it('are accepted if the token names a session, with or without the person', () => {
    const issuedAt = instantFromSeconds(NOW - 5);
    const use = { jti: 'logout-7', forgetAt: instantFromSeconds(NOW - 5 + 661), issuedAt };
    expect(judge({})).to.deep.equal({
      kind: 'accepted',
      ...use,
      loggedOut: { kind: 'session', sessionId: 'session-3', subject: 'ada' },
    });
    expect(judge({ sub: undefined })).to.deep.equal({
      kind: 'accepted',
      ...use,
      loggedOut: { kind: 'session', sessionId: 'session-3', subject: undefined },
    });
    for (const sid of [undefined, '', null]) {
      expect(judge({ sid })).to.deep.equal({
        kind: 'accepted',
        ...use,
        loggedOut: { kind: 'person', subject: 'ada' },
      });
    }
  });

  it('are accepted in every type and form that providers send', () => {
    for (const type of ['logout+jwt', 'JWT', 'application/logout+jwt', 'Logout+JWT']) {
      expect(judge({}, type).kind).to.equal('accepted');
    }
    const noType = { text: '', algorithm: 'RS256', keyId: undefined, type: undefined, claims: claimsOf(good) };
    const now = instantFromSeconds(NOW);
    const expected = { issuer: good.iss, audience: good.aud, now, latest: now };
    expect(judgeLogoutToken(noType, expected).kind).to.equal('accepted');
    // Keycloak sends a second event whose value is not an object, and a claim named typ.
    const second = { [EVENT]: {}, revoke_offline_access: true };
    expect(judge({ events: second, typ: 'Logout' }).kind).to.equal('accepted');
    expect(judge({ exp: undefined, aud: ['account', 'people-desk'] }).kind).to.equal('accepted');
  });

  it('are accepted at the limits of age, lifetime and identifiers', () => {
    expect(judge({ iat: NOW - 660 }).kind).to.equal('accepted');
    expect(judge({ iat: NOW + 60, nbf: NOW + 60 }).kind).to.equal('accepted');
    expect(judge({ exp: NOW - 59 }).kind).to.equal('accepted');
    const long = 'x'.repeat(256);
    expect(judge({ jti: long, sub: long, sid: long }).kind).to.equal('accepted');
  });

  it('say how long the jti must be stored: until the token is too old', () => {
    const verdict = judge({ iat: NOW - 660 });
    expect(verdict).to.deep.include({ forgetAt: instantFromSeconds(NOW + 1) });
  });
});
