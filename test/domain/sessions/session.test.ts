import { expect } from 'chai';
import { plusSeconds } from '../../../domain/instant.ts';
import {
  newSession,
  operatorOf,
  personOf,
  recordedDetail,
  renewal,
  type SessionHash,
} from '../../../domain/sessions/session.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const HOURS = 3600;
const person = {
  subject: 'ada',
  sponsorKey: 'object-7',
  sessionId: 'session-3',
  authenticatedAt: plusSeconds(NOON, -20),
};
const operator = { issuer: 'https://idp.example', roles: ['auditor', 'viewer'] } as const;
const named = { kind: 'operator', sessionHash: 'hash' as SessionHash } as const;
const opened = (ttl: number) => newSession(named, { ...person, ...operator, sealedIdToken: 'sealed' }, NOON, ttl);
const later = (seconds: number) => plusSeconds(NOON, seconds);

describe('A session', () => {
  it('keeps the person of the sign-in, and ends after the TTL', () => {
    expect(opened(900)).to.deep.equal({
      kind: 'operator',
      sessionHash: 'hash',
      ...person,
      ...operator,
      sealedIdToken: 'sealed',
      createdAt: NOON,
      lastUsedAt: NOON,
      expiresAt: later(900),
    });
  });

  it('is renewed by a use at most once a minute, and with a short TTL once in a tenth of it', () => {
    for (const [ttl, every] of [
      [900, 60],
      [8 * HOURS, 60],
      [60, 6],
    ] as const) {
      expect(renewal(opened(ttl), later(every - 1), ttl), `${ttl}`).to.equal(undefined);
      expect(renewal(opened(ttl), later(every), ttl)?.lastUsedAt, `${ttl}`).to.equal(later(every));
    }
    const used = { ...opened(900), lastUsedAt: later(500) };
    expect(renewal(used, later(559), 900)).to.equal(undefined);
    expect(renewal(used, later(560), 900)).to.deep.equal({ lastUsedAt: later(560), expiresAt: later(1460) });
  });

  it('names an operator with roles, or a person with a sponsor key', () => {
    expect(operatorOf(opened(900))).to.deep.equal({
      kind: 'person',
      subject: 'ada',
      sponsorKey: 'object-7',
      ...operator,
    });
    expect(personOf(opened(900))).to.deep.equal({ ...person, by: 'session' });
    expect(personOf({ ...opened(900), sponsorKey: undefined })).to.equal(undefined);
  });

  it('has a detail for its records, but not at /me', () => {
    expect(recordedDetail(opened(900))).to.equal('iss=https%3A%2F%2Fidp.example&sub=ada&role=auditor%2Cviewer');
    expect(recordedDetail({ ...opened(900), kind: 'me' })).to.equal(undefined);
  });

  it('ends eight hours after its beginning, however often it is used', () => {
    const last = 8 * HOURS - 900;
    expect(renewal(opened(900), later(last), 900)?.expiresAt).to.equal(later(8 * HOURS));
    expect(renewal(opened(900), later(last + 1), 900)?.expiresAt).to.equal(later(8 * HOURS));
    expect(opened(9 * HOURS).expiresAt).to.equal(later(8 * HOURS));
  });
});
