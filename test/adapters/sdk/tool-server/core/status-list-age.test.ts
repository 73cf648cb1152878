/** How long a list decides: what confirms it, and what ends its use. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import {
  DECIDED,
  INTERVAL_MS,
  MAX_AGE_MS,
  NOT_NEWER,
  NOT_SENT,
  OLD,
  PATH,
  pollingForEachTest,
  SKEW,
  START,
  UNKNOWN,
} from '../../../../support/tool-server/polled-lists.ts';
import { etagOf, sendList, TTL } from '../../../../support/tool-server/status-lists.ts';

describe('A tool server that polls status lists', () => {
  const polling = pollingForEachTest();
  const { make, seconds, both, sentence, list, serve, raw } = polling;

  it('accepts a 304 only as the answer to an ETag that it sent', async () => {
    polling.plane.answerStatus = raw(304);
    expect(await both()).to.deep.equal(UNKNOWN);
    polling.plane.answerStatus = raw(200, await list());
    await polling.clock.advance(INTERVAL_MS);
    expect(await both()).to.deep.equal(DECIDED);
    polling.plane.answerStatus = raw(304);
    await polling.clock.advance(MAX_AGE_MS + 1);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(polling.problems).to.deep.equal([sentence(NOT_SENT), sentence(NOT_SENT)]);
  });

  it('polls with the ETag of its list, past all caches, and a 304 keeps the list fresh', async () => {
    const token = await list({ claims: { ttl: 60 } });
    polling.plane.answerStatus = sendList(token);
    for (let polls = 1; polls <= 8; polls += 1) {
      expect(await both()).to.deep.equal(DECIDED);
      await polling.clock.advance(INTERVAL_MS);
    }
    const polls = polling.plane.server.received.filter(({ path }) => path === PATH);
    expect(polls).to.have.length(9);
    const [first, ...others] = polls.map(({ headers }) => headers['if-none-match']);
    expect(first).to.equal(undefined);
    expect(new Set(others)).to.deep.equal(new Set([etagOf(token)]));
    for (const { method, headers } of polls) {
      expect([method, headers.accept]).to.deep.equal(['GET', 'application/statuslist+jwt']);
      expect(headers['cache-control']).to.equal('no-cache');
    }
    expect(polling.problems).to.deep.equal([]);
  });

  for (const [what, repeat] of [
    [
      'the same list with a fresh ETag',
      async () => {
        const token = await list();
        return () => sendList(token, {}, `"${randomBytes(8).toString('hex')}"`);
      },
    ],
    [
      'the same statuses, signed anew with the same iat',
      async () => {
        const tokens = [await list(), await list(), await list(), await list(), await list()];
        return () => sendList(tokens.pop() ?? '');
      },
    ],
  ] as const) {
    it(`does not count as a confirmation: ${what}`, async () => {
      const next = await repeat();
      polling.plane.answerStatus = (...call) => next()(...call);
      expect(await both()).to.deep.equal(DECIDED);
      await polling.clock.advance(MAX_AGE_MS);
      expect(await both()).to.deep.equal(DECIDED);
      await polling.clock.advance(1);
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(polling.problems).to.deep.equal([sentence(NOT_NEWER)]);
    });
  }

  for (const [ttl, forMs] of [
    [TTL, 5 * TTL * 1000],
    [2 * TTL, 10 * TTL * 1000],
  ] as const) {
    it(`accepts a 304 for five times a ttl of ${ttl} s, then polls without the ETag`, async () => {
      await serve({ claims: { ttl } });
      expect(await both()).to.deep.equal(DECIDED);
      for (let passed = 0; passed < forMs + MAX_AGE_MS; passed += INTERVAL_MS) {
        await polling.clock.advance(INTERVAL_MS);
        expect(await both()).to.deep.equal(DECIDED);
      }
      await polling.clock.advance(1);
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(polling.problems).to.deep.equal([sentence(NOT_NEWER)]);
      const polls = polling.plane.server.received.filter(({ path }) => path === PATH);
      const tagged = polls.filter(({ headers }) => headers['if-none-match'] !== undefined);
      expect(tagged).to.have.length(forMs / INTERVAL_MS);
      expect(polls.slice(1, tagged.length + 1)).to.deep.equal(tagged);

      polling.plane.answerStatus = raw(304);
      await polling.clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(UNKNOWN);
      await serve({ claims: { ttl } });
      await polling.clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(DECIDED);
    });
  }

  it('takes a replayed list after a restart until it is older than five times its ttl and the clock skew, whatever confirms it', async () => {
    const old = await list({ claims: { iat: seconds() - 5 * TTL - SKEW, exp: seconds() + 600 } });
    polling.plane.answerStatus = sendList(old);
    expect(await both()).to.deep.equal(DECIDED);
    const forged = raw(304, '', { etag: etagOf(old) });
    for (let passed = 0; passed < MAX_AGE_MS; passed += INTERVAL_MS) {
      polling.plane.answerStatus = passed % 2 === 0 ? forged : sendList(old);
      await polling.clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(DECIDED);
    }
    await polling.clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
    polling.lists = make();
    polling.plane.answerStatus = sendList(old);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(polling.problems).to.include(sentence(OLD));
  });

  it('counts the age of a list from the start of its fetch', async () => {
    const token = await list();
    polling.plane.answerStatus = (...call) => {
      polling.clock.pass(3000);
      polling.plane.answerStatus = raw(503);
      sendList(token)(...call);
    };
    expect(await both()).to.deep.equal(DECIDED);
    await polling.clock.advance(MAX_AGE_MS - 3000);
    expect(await both()).to.deep.equal(DECIDED);
    await polling.clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
  });

  it('uses a list no longer because the clock was set back', async () => {
    expect(await both()).to.deep.equal(DECIDED);
    polling.clock.set(START - 3_600_000);
    expect(await both()).to.deep.equal(DECIDED);
    polling.plane.answerStatus = raw(503);
    await polling.clock.advance(MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    await polling.clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
  });

  it('does not use a list from before the machine was suspended', async () => {
    expect(await both()).to.deep.equal(DECIDED);
    polling.clock.set(START + MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    polling.clock.set(START + MAX_AGE_MS + 1);
    expect(await both()).to.deep.equal(UNKNOWN);
    await serve();
    await polling.clock.advance(INTERVAL_MS);
    expect(await both()).to.deep.equal(DECIDED);
  });

  it('does not use a list after its exp, even if it is confirmed', async () => {
    await serve({ claims: { exp: seconds() - SKEW + 6, ttl: 60 } });
    await both();
    await polling.clock.advance(5999);
    expect(await both()).to.deep.equal(DECIDED);
    await polling.clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(polling.problems).to.deep.equal([]);
  });
});
