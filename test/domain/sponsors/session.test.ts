import { expect } from 'chai';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { newSession, renewal, type SessionHash } from '../../../domain/sponsors/session.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const HOURS = 3600;
const person = {
  ...{ subject: 'ada', sponsorKey: 'object-7' as SponsorKey, sessionId: 'session-3' },
  authenticatedAt: plusSeconds(NOON, -20),
};
const opened = (ttl: number) => newSession('hash' as SessionHash, { ...person, sealedIdToken: 'sealed' }, NOON, ttl);
const later = (seconds: number) => plusSeconds(NOON, seconds);

describe('A session of the page', () => {
  it('keeps the person of the sign-in, and ends after the TTL', () => {
    expect(opened(900)).to.deep.equal({
      ...{ sessionHash: 'hash', ...person, sealedIdToken: 'sealed' },
      ...{ createdAt: NOON, lastUsedAt: NOON, expiresAt: later(900) },
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

  it('ends eight hours after its beginning, however often it is used', () => {
    const last = 8 * HOURS - 900;
    expect(renewal(opened(900), later(last), 900)?.expiresAt).to.equal(later(8 * HOURS));
    expect(renewal(opened(900), later(last + 1), 900)?.expiresAt).to.equal(later(8 * HOURS));
    expect(opened(9 * HOURS).expiresAt).to.equal(later(8 * HOURS));
  });
});
