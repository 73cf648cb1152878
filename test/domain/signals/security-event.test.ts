import { expect } from 'chai';
import { instantFromSeconds } from '../../../domain/instant.ts';
import type { UpstreamIssuers } from '../../../domain/signals/event-subject.ts';
import {
  judgeSecurityEvent,
  reasonsOnRecord,
  type SecurityEventVerdict,
} from '../../../domain/signals/security-event.ts';
import { claimsOf } from '../../support/claims.ts';

const NOW = 1_789_653_821;
const DAY = 86_400;
const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';
const OAUTH = 'https://schemas.openid.net/secevent/oauth/event-type/';
const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';
const UPSTREAM = 'https://idp.example';
const UPSTREAM_ISSUERS: UpstreamIssuers = { known: [UPSTREAM], isComplete: true };
const ada = { format: 'iss_sub', iss: UPSTREAM, sub: 'object-7' };
const adaToo = { format: 'opaque', id: 'object-7' };
const grace = { format: 'opaque', id: 'object-8' };
const good = {
  iss: 'https://transmitter.example',
  aud: 'https://mandate.example/events',
  jti: 'set-7',
  iat: NOW - 5,
  sub_id: ada,
  events: { [`${RISC}account-disabled`]: { reason: 'hijacking' } },
};

function judge(
  changes: Record<string, unknown>,
  more: { type?: string; upstream?: UpstreamIssuers; latest?: number } = {},
) {
  const claims = Object.fromEntries(Object.entries({ ...good, ...changes }).filter(([, value]) => value !== undefined));
  const { type, upstream, latest } = { latest: NOW, type: 'secevent+jwt', upstream: UPSTREAM_ISSUERS, ...more };
  return judgeSecurityEvent(
    { text: '', algorithm: 'RS256', keyId: undefined, type, claims: claimsOf(claims) },
    {
      issuer: good.iss,
      audience: good.aud,
      upstream,
      now: instantFromSeconds(NOW),
      latest: instantFromSeconds(latest),
    },
  );
}

const statedAt = instantFromSeconds(NOW - 5);
/** While the metadata of the identity provider was not read. */
const unknown = { upstream: { known: [], isComplete: false } };

const revoked = (payload: unknown) => ({ [`${CAEP}session-revoked`]: payload });
const inEvent = (subject: unknown) => ({ sub_id: undefined, events: revoked({ subject }) });

const inTwoMembers = { sub_id: undefined, events: revoked({ subject: ada, sub_id: grace }) };
const inTwoEvents = {
  sub_id: undefined,
  events: { ...revoked({ subject: ada }), [`${RISC}account-disabled`]: { subject: grace } },
};
const aPhone = { format: 'phone_number', phone_number: '+12065550100' };
const anAlias = { format: 'aliases', identifiers: [ada] };

const refusals: readonly [string, Record<string, unknown>, string][] = [
  ['comes from another transmitter', { iss: 'https://transmitter.example/' }, 'untrusted_issuer'],
  ['is for another stream', { aud: ['https://other.example'] }, 'audience_mismatch'],
  ['is for no stream', { aud: undefined }, 'audience_mismatch'],
  ['has no iat', { iat: undefined }, 'missing_issued_at'],
  ['was issued in the future, beyond the skew', { iat: NOW + 61 }, 'not_yet_valid'],
  ['has an nbf in the future, beyond the skew', { nbf: NOW + 61 }, 'not_yet_valid'],
  ['expired longer ago than the skew', { exp: NOW - 60 }, 'expired'],
  ['is older than a day and the skew', { iat: NOW - DAY - 61 }, 'too_old'],
  ['has no jti', { jti: undefined }, 'missing_jti'],
  ['has a jti of 257 characters', { jti: 'x'.repeat(257) }, 'missing_jti'],
  ['has no events', { events: undefined }, 'not_a_security_event'],
  ['has an empty set of events', { events: {} }, 'not_a_security_event'],
  ['has events that are a list', { events: [`${CAEP}session-revoked`] }, 'not_a_security_event'],
  ['has an event that is not an object', { events: revoked(true) }, 'not_a_security_event'],
  ['names two people, above and in the event', { events: revoked({ subject: grace }) }, 'ambiguous_subject'],
  ['names two people in one event', inTwoMembers, 'ambiguous_subject'],
  ['names two people in two events', inTwoEvents, 'ambiguous_subject'],
  ['names two people, as its sub and as its subject', { sub: 'object-8' }, 'ambiguous_subject'],
  ['names two people, as its sub and in the event', { sub: 'object-8', ...inEvent(adaToo) }, 'ambiguous_subject'],
  ['has a sub that differs from its subject in case only', { sub: 'Object-7' }, 'ambiguous_subject'],
  ['has a sub that is not a string', { sub: { id: 'object-7' } }, 'no_usable_subject'],
  ['has a sub that is null', { sub: null }, 'no_usable_subject'],
  ['names a person by its sub alone', { sub: 'object-7', sub_id: undefined }, 'no_usable_subject'],
  ['has no subject', { sub_id: undefined }, 'no_usable_subject'],
  ['has a subject that is not an object', { sub_id: 'object-7' }, 'no_usable_subject'],
  ['names a person of another provider', { sub_id: { ...ada, iss: 'https://other.example' } }, 'no_usable_subject'],
  ['names a person by iss_sub without a sub', { sub_id: { ...ada, sub: undefined } }, 'no_usable_subject'],
  ['names a person by an invalid sponsor key', { sub_id: { ...adaToo, id: 'a b' } }, 'no_usable_subject'],
  ['names a person by an id that is not a string', { sub_id: { ...adaToo, id: 7 } }, 'no_usable_subject'],
  ['names a device but no user', inEvent({ format: 'complex', device: adaToo }), 'no_usable_subject'],
  ['names a device alone, without a format', inEvent({ device: adaToo }), 'unsupported_subject_format'],
  ['names a user by telephone', { sub_id: { format: 'complex', user: aPhone } }, 'unsupported_subject_format'],
  ['names aliases as the user of a subject without a format', inEvent({ user: anAlias }), 'unsupported_subject_format'],
  ['names a user that is not an object', inEvent({ user: 'object-7' }), 'no_usable_subject'],
  ['names a person by e-mail', { sub_id: { format: 'email', email: 'a@b.example' } }, 'unsupported_subject_format'],
  ['has no format', { sub_id: { iss: UPSTREAM, sub: 'object-7' } }, 'unsupported_subject_format'],
  ['names a user by e-mail', inEvent({ user: { format: 'email', email: 'a@b' } }), 'unsupported_subject_format'],
  ['nests one complex subject in another', inEvent({ user: { user: ada } }), 'unsupported_subject_format'],
  [
    'names a person readably above, and unreadably in the event',
    { events: revoked({ subject: { format: 'email', email: 'a@b.example' } }) },
    'unsupported_subject_format',
  ],
];

const mail = { format: 'email', email: 'a@b.example' };
const elsewhere = { ...ada, iss: 'https://other.example' };
const aliases = (...identifiers: unknown[]) => ({ format: 'aliases', identifiers });

const refusedAliases: readonly [string, unknown, string][] = [
  ['two people', aliases(ada, grace), 'ambiguous_subject'],
  ['one person twice', aliases(ada, adaToo), 'ambiguous_subject'],
  ['two opaque identifiers', aliases(mail, adaToo, grace), 'ambiguous_subject'],
  ['two people of the provider', aliases(ada, { ...ada, sub: 'object-8' }), 'ambiguous_subject'],
  ['one person and an invalid sponsor key', aliases(ada, { format: 'opaque', id: 'a b' }), 'ambiguous_subject'],
  ['a mailbox and a telephone only', aliases(mail, aPhone), 'unsupported_subject_format'],
  ['other aliases only', aliases(aliases(ada)), 'unsupported_subject_format'],
  ['a complex subject only', aliases({ format: 'complex', user: ada }), 'unsupported_subject_format'],
  ['an identifier without a format only', aliases({ iss: UPSTREAM, sub: 'object-7' }), 'unsupported_subject_format'],
  ['a person of another provider', aliases(mail, elsewhere), 'no_usable_subject'],
  ['an invalid sponsor key', aliases({ format: 'opaque', id: '..' }), 'no_usable_subject'],
  ['nothing', aliases(), 'no_usable_subject'],
  ['an additional alias that is not an object', aliases(ada, 'object-7'), 'no_usable_subject'],
  ['identifiers that are not a list', { format: 'aliases', identifiers: ada }, 'no_usable_subject'],
  ['no identifiers', { format: 'aliases' }, 'no_usable_subject'],
];

function actionOf(verdict: SecurityEventVerdict) {
  if (verdict.kind === 'refused') throw new Error(verdict.reason);
  return verdict.action;
}

describe('the claims of a security event token', () => {
  for (const [what, changes, check] of refusals) {
    it(`are refused if the token ${what}`, () => {
      expect(judge(changes)).to.deep.equal({ kind: 'refused', reason: `ssf_${check}` });
    });
  }

  for (const [what, subject, check] of refusedAliases) {
    it(`are refused for aliases with ${what}, in sub_id, in the event, and as a user`, () => {
      for (const changes of [{ sub_id: subject }, inEvent(subject), inEvent({ format: 'complex', user: subject })]) {
        expect(judge(changes)).to.deep.equal({ kind: 'refused', reason: `ssf_${check}` });
      }
    });
  }

  it('name the person by the only usable identifier among aliases', () => {
    for (const subject of [
      aliases(ada),
      aliases(adaToo),
      aliases(mail, ada, aPhone),
      aliases(elsewhere, adaToo, mail),
      aliases(elsewhere, ada),
      aliases(aliases(grace), adaToo),
      { format: 'complex', user: aliases(mail, ada), session: grace },
    ]) {
      expect(actionOf(judge({ sub_id: subject }))?.sponsorKey, JSON.stringify(subject)).to.equal('object-7');
      expect(actionOf(judge(inEvent(subject)))?.sponsorKey, JSON.stringify(subject)).to.equal('object-7');
    }
    expect(judge({ sub_id: aliases(ada), events: revoked({ subject: grace }) })).to.include({
      reason: 'ssf_ambiguous_subject',
    });
    expect(actionOf(judge({ sub_id: aliases(mail, adaToo) }, unknown))?.sponsorKey).to.equal('object-7');
    for (const subject of [aliases(ada), aliases(elsewhere, adaToo)]) {
      expect(judge({ sub_id: subject }, unknown)).to.include({ reason: 'ssf_keys_unavailable' });
    }
    expect(judge({ sub_id: aliases(ada, adaToo, grace) }, unknown)).to.include({ reason: 'ssf_ambiguous_subject' });
  });

  for (const type of ['secevent+jwt', 'application/secevent+jwt', 'SecEvent+JWT']) {
    it(`are accepted with the typ "${type}"`, () => expect(judge({}, { type }).kind).to.equal('accepted'));
  }

  for (const type of ['application/jwt', 'text/secevent+jwt', 'secevent', 'JWT', 'logout+jwt', 'at+jwt', '']) {
    it(`are refused with the typ "${type}"`, () => {
      expect(judge({}, { type })).to.deep.equal({ kind: 'refused', reason: 'ssf_not_a_security_event' });
    });
  }

  for (const [uri, reason, lift, block, end] of [
    [`${CAEP}session-revoked`, 'ssf_sessions_revoked', false, undefined, 'ssf_sessions_revoked'],
    [`${RISC}sessions-revoked`, 'ssf_sessions_revoked', false, undefined, 'ssf_sessions_revoked'],
    [`${OAUTH}tokens-revoked`, 'ssf_sessions_revoked', false, undefined, 'ssf_sessions_revoked'],
    [`${RISC}account-disabled`, 'ssf_account_disabled', false, 'disabled', 'ssf_account_disabled'],
    [`${RISC}account-purged`, 'ssf_account_purged', false, 'deleted', 'ssf_account_purged'],
    [`${RISC}account-enabled`, 'ssf_account_enabled', true, undefined, undefined],
  ] as const) {
    it(`map ${uri.split('/').at(-1)} to its action`, () => {
      const verdict = judge({ events: { [uri]: {} } });
      expect(verdict).to.deep.equal({
        kind: 'accepted',
        jti: 'set-7',
        forgetAt: instantFromSeconds(NOW - 5 + DAY + 61),
        action: { sponsorKey: 'object-7', statedAt, reasons: [reason], lift, block, end },
        endings: end === undefined ? [] : [{ type: uri, format: 'iss_sub' }],
      });
    });
  }

  it('with several events cause the strictest action, in any order', () => {
    const names = ['session-revoked', 'account-enabled', 'account-purged', 'account-disabled'];
    for (const order of [names, names.toReversed()]) {
      const events = Object.fromEntries(order.map((name) => [(name.startsWith('s') ? CAEP : RISC) + name, {}]));
      expect(actionOf(judge({ events }))).to.deep.equal({
        sponsorKey: 'object-7',
        statedAt,
        reasons: ['ssf_account_enabled', 'ssf_sessions_revoked', 'ssf_account_disabled', 'ssf_account_purged'],
        lift: false,
        block: 'deleted',
        end: 'ssf_account_purged',
      });
    }
    const events = { ...revoked({}), [`${RISC}account-enabled`]: {} };
    expect(actionOf(judge({ events }))).to.deep.include({ lift: true, block: undefined, end: 'ssf_sessions_revoked' });
  });

  it('have the reason of each action, with outdated only for an outdated account-enabled', () => {
    const events = { ...revoked({}), [`${RISC}account-enabled`]: {} };
    const action = actionOf(judge({ events }));
    if (action === undefined) throw new Error('no action');
    const found = { outdated: false, isKnown: true };
    const outdated = ['ssf_account_enabled_outdated', 'ssf_sessions_revoked'];
    expect(reasonsOnRecord(action, found)).to.deep.equal(['ssf_account_enabled', 'ssf_sessions_revoked']);
    expect(reasonsOnRecord(action, { ...found, outdated: true })).to.deep.equal(outdated);
    expect(reasonsOnRecord(action, { ...found, isKnown: false })).to.deep.equal(['ssf_account_enabled']);
  });

  it('say of each event that ends tasks its type and the formats of its subject, and nothing of the subject', () => {
    const both = { ...revoked({}), [`${RISC}account-enabled`]: {}, [`${OAUTH}tokens-revoked`]: { subject: ada } };
    const two = [`${CAEP}session-revoked`, `${OAUTH}tokens-revoked`];
    const session = 'dMTlD|1600802906337.16|16008.16';
    for (const [changes, types, format] of [
      [{ events: both }, two, 'iss_sub'],
      [{ sub_id: adaToo, events: both }, two, 'opaque iss_sub'],
      [{ sub_id: { format: 'opaque', id: session }, events: revoked({}) }, two.slice(0, 1), 'opaque'],
      [inEvent({ format: 'complex', user: ada, session: adaToo }), two.slice(0, 1), 'iss_sub'],
      [inEvent(aliases(mail, adaToo)), two.slice(0, 1), 'opaque'],
    ] as const) {
      const verdict = judge(changes);
      if (verdict.kind === 'refused') throw new Error(verdict.reason);
      expect(verdict.endings).to.deep.equal(types.map((type) => ({ type, format })));
    }
  });

  it('name the person in sub_id, in the event, equally in both, or as the user of a complex subject', () => {
    for (const changes of [
      { events: revoked({}) },
      { events: revoked({ subject: adaToo }) },
      inEvent(ada),
      { sub_id: undefined, events: revoked({ sub_id: adaToo }) },
      inEvent({ user: ada }),
      inEvent({ format: 'complex', user: adaToo, device: { format: 'opaque', id: 'laptop' } }),
      inEvent({ format: 'complex', user: ada, tenant: grace, device: grace, session: grace }),
      inEvent({ user: adaToo, tenant: grace, device: 7, session: null }),
      { sub_id: { user: ada }, events: revoked({}) },
      { sub: 'object-7', events: revoked({}) },
      { sub: 'object-7', ...inEvent({ user: ada }) },
    ]) {
      expect(actionOf(judge(changes))?.sponsorKey, JSON.stringify(changes)).to.equal('object-7');
    }
  });

  it('need neither a subject nor an identity provider if the service handles none of the events', () => {
    const stream = { format: 'opaque', id: 'object-7' };
    for (const changes of [
      { sub_id: stream, events: { [`${SSF}verification`]: { state: 'x' } } },
      { sub_id: stream, sub: 'object-8', events: { [`${SSF}verification`]: { state: 'x' } } },
      { sub_id: stream, events: { [`${SSF}stream-updated`]: { status: 'paused' } } },
      { sub_id: undefined, events: { [`${CAEP}credential-change`]: { subject: { format: 'email', email: 'a@b' } } } },
      { sub_id: 'nonsense', events: { 'https://example.com/other': null } },
      { sub_id: undefined, events: { __proto__: null, constructor: {} } },
    ]) {
      expect(actionOf(judge(changes, unknown))).to.equal(undefined);
    }
  });

  it('may have any subject in an event that the service does not handle', () => {
    const events = { ...revoked({}), [`${CAEP}credential-change`]: { subject: grace } };
    expect(actionOf(judge({ events }))?.sponsorKey).to.equal('object-7');
  });

  it('name a person only with the identity provider’s issuer, unless the subject is opaque', () => {
    for (const changes of [{}, { sub_id: ada, events: revoked({ subject: adaToo }) }]) {
      expect(judge(changes, unknown)).to.deep.equal({ kind: 'refused', reason: 'ssf_keys_unavailable' });
    }
    expect(actionOf(judge({ sub_id: adaToo }, unknown))?.sponsorKey).to.equal('object-7');
  });

  it('name a person by each issuer of the identity provider, and wait for the metadata before another one is refused', () => {
    const trust = { ...ada, iss: 'https://idp.example/trust' };
    const read = { upstream: { known: [UPSTREAM, trust.iss], isComplete: true } };
    const unread = { upstream: { known: [UPSTREAM], isComplete: false } };
    for (const subject of [ada, trust, aliases(elsewhere, trust), { user: trust }]) {
      expect(actionOf(judge({ sub_id: subject }, read))?.sponsorKey, JSON.stringify(subject)).to.equal('object-7');
    }
    expect(judge({ sub_id: elsewhere }, read)).to.include({ reason: 'ssf_no_usable_subject' });
    expect(judge({ sub_id: aliases(ada, trust) }, read)).to.include({ reason: 'ssf_ambiguous_subject' });
    for (const subject of [ada, aliases(mail, ada)]) {
      expect(actionOf(judge({ sub_id: subject }, unread))?.sponsorKey, JSON.stringify(subject)).to.equal('object-7');
    }
    for (const subject of [trust, elsewhere, aliases(ada, trust), aliases(elsewhere, adaToo)]) {
      const verdict = judge({ sub_id: subject }, unread);
      expect(verdict, JSON.stringify(subject)).to.include({ reason: 'ssf_keys_unavailable' });
    }
  });

  it('are accepted at the limits of age and of exp and nbf, whatever the time of the event', () => {
    expect(judge({ iat: NOW - DAY - 60 }).kind).to.equal('accepted');
    expect(judge({ iat: NOW + 60 }).kind).to.equal('accepted');
    expect(judge({ exp: NOW - 59, nbf: NOW + 60 }).kind).to.equal('accepted');
    expect(judge({ toe: NOW - 9 * DAY }).kind).to.equal('accepted');
    expect(judge({ events: revoked({ event_timestamp: 1_615_305_159_000 }) }).kind).to.equal('accepted');
    expect(judge({ jti: 'x'.repeat(256), aud: ['other', good.aud] }).kind).to.equal('accepted');
  });
});
