/** The pollers of status lists: when they ask again, and which requests they send. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { fromSource } from '../../../../../scripts/from-source.ts';
import { claimsOf } from '../../../../support/claims.ts';
import { eventually } from '../../../../support/eventually.ts';
import type { Handler } from '../../../../support/loopback.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import { AUDIENCE } from '../../../../support/tool-server/control-plane.ts';
import {
  DECIDED,
  FIRST_RETRY_MS,
  INTERVAL_MS,
  KEYS,
  LISTED,
  MAX_AGE_MS,
  NO_ANSWER,
  NOT_NEWER,
  OTHER_LISTS,
  OVER,
  PATH,
  pollingForEachTest,
  SKEW,
  UNKNOWN,
  VALID,
} from '../../../../support/tool-server/polled-lists.ts';
import {
  LIST_ID,
  listService,
  listUri,
  sendList,
  signList,
  statusMember,
  TTL,
} from '../../../../support/tool-server/status-lists.ts';

const run = promisify(execFile);
/** A time limit that a poll is meant to exceed; an answer takes far less. */
const TIMEOUT_MS = 2000;

describe('A tool server that polls status lists', () => {
  const polling = pollingForEachTest();
  const { make, seconds, askFor, ask, asked, both, sentence, list, serve, raw } = polling;
  let next: SigningKey;
  before(async () => {
    next = await makeSigningKey('ES256');
  });

  for (const [what, lost] of [
    ['is lost', raw(503)],
    ['gets the earlier list of another replica', undefined],
  ] as const) {
    it(`polls again before its list is stale if a poll ${what}`, async () => {
      const earlier = sendList(await signList(polling.plane, seconds() - 1, LISTED));
      await both();
      let polls = 0;
      polling.plane.answerStatus = async (...call) => {
        polls += 1;
        const answer = polls % 2 === 1 ? (lost ?? earlier) : sendList(await list());
        answer(...call);
      };
      for (let passed = 0; passed < 8 * MAX_AGE_MS; passed += 100) {
        await polling.clock.advance(100);
        expect(await both(), `after ${passed} ms`).to.deep.equal(DECIDED);
      }
      expect(polls).to.be.above(16);
    });
  }

  it('soon polls as rarely as without a failure while the control plane is away', async () => {
    await both();
    polling.plane.answerStatus = raw(503);
    const shares: number[] = [];
    for (let quarter = 1; quarter <= 20; quarter += 1) {
      const before = asked();
      await polling.clock.advance(FIRST_RETRY_MS);
      await both();
      if (asked() > before) shares.push(quarter / 4);
    }
    // In intervals after the first poll: the one that fails, a quarter and three quarters later, then one for each.
    expect(shares).to.deep.equal([1, 1.25, 1.75, 2.75, 3.75, 4.75]);
  });

  it('leaves time for another poll before its list is stale if one gets no answer', async () => {
    polling.lists = make(60_000, 4 * TIMEOUT_MS);
    expect(await both()).to.deep.equal(DECIDED);
    polling.plane.answerStatus = () => undefined;
    const began = performance.now();
    await polling.clock.advance(2 * TIMEOUT_MS);
    expect(performance.now() - began).to.be.within(TIMEOUT_MS - 100, 2 * TIMEOUT_MS);
    expect(polling.problems).to.deep.equal([sentence(NO_ANSWER)]);
  });

  it('polls before its list expires, however long maxAgeMs is', async () => {
    polling.lists = make(60_000, 600_000);
    const ttl = 1;
    polling.plane.answerStatus = async (...call) => {
      const [iat, exp] = [seconds(), seconds() + 12 * ttl];
      sendList(await signList(polling.plane, iat, LISTED, { claims: { exp, ttl } }))(...call);
    };
    for (let passed = 0; passed < 900_000; passed += 5000) {
      expect(await both(), `after ${passed} ms`).to.deep.equal(DECIDED);
      await polling.clock.advance(5000);
    }
    expect(asked()).to.be.within(20, 30);
    expect(polling.problems).to.deep.equal([]);
  });

  it('polls no sooner than after the ttl, however soon its list expires', async () => {
    await serve({ claims: { exp: seconds() - SKEW + 1, ttl: 2 } });
    await both();
    await polling.clock.advance(1999);
    expect(asked()).to.equal(1);
    await polling.clock.advance(1);
    expect(asked()).to.equal(2);
  });

  it('asks no list about a token that expired over a minute ago: its index may be that of another task', async () => {
    const kindAt = (exp: number) => askFor({ exp, status: statusMember(polling.plane, OVER) });
    expect(await kindAt(seconds() - 60)).to.equal('unknown');
    expect(polling.plane.server.received).to.deep.equal([]);
    expect(await kindAt(seconds() - 59)).to.equal('not_active');
  });

  it('fetches a list once for 100 concurrent first tokens', async () => {
    const kinds = await Promise.all(Array.from({ length: 100 }, () => ask(OVER)));
    expect(new Set(kinds)).to.deep.equal(new Set(['not_active']));
    expect([asked(), polling.plane.asked(KEYS)]).to.deep.equal([1, 1]);
  });

  it('sends one request for each list and interval under load, for three lists at once', async () => {
    const all = [LIST_ID, ...OTHER_LISTS];
    polling.plane.answerStatus = listService(
      polling.plane,
      () => polling.clock.now() / 1000,
      (listId) => ({ [all.indexOf(listId)]: 1 }),
    );
    for (let step = 0; step < 40; step += 1) {
      const kinds = await Promise.all(
        all.flatMap((listId) => [0, 1, 2].flatMap((index) => Array.from({ length: 10 }, () => ask(index, listId)))),
      );
      expect(kinds.filter((kind) => kind === 'not_active')).to.have.length(30);
      expect(kinds.filter((kind) => kind === 'active')).to.have.length(60);
      await polling.clock.advance(INTERVAL_MS / 10);
    }
    expect(all.map((listId) => polling.plane.asked(`/status/${listId}`))).to.deep.equal([5, 5, 5]);
    expect(polling.problems).to.deep.equal([]);
  });

  for (const [what, slow, timeoutMs, maxAgeMs] of [
    ['an answer no longer than timeoutMs', () => undefined, TIMEOUT_MS, 60_000],
    ['the rest of a body no longer than half of maxAgeMs', raw200, 60_000, 2 * TIMEOUT_MS],
  ] as const) {
    it(`waits for ${what}`, async () => {
      polling.lists = make(timeoutMs, maxAgeMs);
      polling.plane.answerStatus = slow;
      const began = performance.now();
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(performance.now() - began).to.be.within(TIMEOUT_MS - 100, 20_000);
      expect(polling.problems).to.deep.equal([sentence(NO_ANSWER)]);
    });
  }

  it('lets no token wait for a later poll', async () => {
    await both();
    const held: (() => void)[] = [];
    polling.plane.answerStatus = (...call) => void held.push(() => raw(503)(...call));
    const polled = polling.clock.advance(INTERVAL_MS);
    await eventually(() => held.length === 1);
    expect(await both()).to.deep.equal(DECIDED);
    polling.clock.pass(INTERVAL_MS + 1);
    expect(await both()).to.deep.equal(UNKNOWN);
    held[0]?.();
    await polled;
  });

  it('repeats the Retry-After of the control plane', async () => {
    polling.plane.answerStatus = raw(503, '', { 'retry-after': '7' });
    const status = { status_list: { idx: 0, uri: listUri(polling.plane) } };
    expect(await polling.lists.statusOf(claimsOf({ status }))).to.deep.equal({ kind: 'unknown', retryAfter: '7' });
  });

  it('uses a list with a new key at once after a rotation', async () => {
    await both();
    polling.plane.published = [polling.plane.key, next];
    polling.plane.key = next;
    await polling.clock.advance(INTERVAL_MS - 1);
    await serve();
    await polling.clock.advance(1);
    polling.plane.answerStatus = raw(503);
    await polling.clock.advance(MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    expect(polling.plane.asked(KEYS)).to.equal(2);
  });

  it('stops after six polls without a token, and starts again with the next one', async () => {
    await serve({ claims: { ttl: 60 } });
    await both();
    await polling.clock.advance(6 * INTERVAL_MS);
    expect([asked(), polling.clock.pending()]).to.deep.equal([7, 1]);
    await polling.clock.advance(INTERVAL_MS);
    expect([asked(), polling.clock.pending()]).to.deep.equal([7, 0]);
    await polling.clock.advance(INTERVAL_MS + 1);
    await serve();
    expect(await both()).to.deep.equal(DECIDED);
    expect([asked(), polling.clock.pending()]).to.deep.equal([8, 1]);
  });

  it('lets no token wait for the first poll after a stop if its list is fresh', async () => {
    await serve({ claims: { ttl: 60 } });
    await both();
    await polling.clock.advance(7 * INTERVAL_MS);
    expect(polling.clock.pending()).to.equal(0);
    const held: (() => void)[] = [];
    polling.plane.answerStatus = (...call) => void held.push(() => raw(503)(...call));
    expect(await both()).to.deep.equal(DECIDED);
    expect(polling.problems).to.deep.equal([]);
    await eventually(() => held.length === 1);
    held[0]?.();
    await eventually(() => polling.clock.pending() === 1);
  });

  it('refuses a replay also after a stop, and forgets a list only when it has expired', async () => {
    const earlier = await signList(polling.plane, seconds() - 1, {});
    await serve({ claims: { ttl: 60 } });
    await both();
    await polling.clock.advance(9 * INTERVAL_MS);
    expect(polling.clock.pending()).to.equal(0);
    await ask(VALID, OTHER_LISTS[0]);
    polling.plane.answerStatus = sendList(earlier);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(polling.problems.at(-1)).to.equal(sentence(NOT_NEWER));

    await polling.clock.advance((12 * TTL + SKEW) * 1000);
    expect(polling.clock.pending()).to.equal(0);
    await ask(VALID, OTHER_LISTS[1]);
    await serve();
    expect(await both()).to.deep.equal(DECIDED);
    expect(polling.plane.server.received.findLast(({ path }) => path === PATH)?.headers).not.to.have.property(
      'if-none-match',
    );
  });

  it('keeps no process alive', async () => {
    const tool = new URL('../../../../../adapters/sdk/tool-server/core/tool-server.ts', import.meta.url).href;
    const options = { issuer: polling.plane.issuer, audience: AUDIENCE, statusList: { maxAgeMs: 600_000 } };
    const token = polling.plane.token({ iat: seconds() - 1, status: statusMember(polling.plane, OVER) });
    const program = `
      const { createToolServer } = await import(${JSON.stringify(tool)});
      const toolServer = createToolServer({ ...${JSON.stringify(options)}, now: () => ${polling.clock.now()}, onAccess: () => {} });
      const policy = toolServer.policy({ scope: ['jira:read'] });
      const { reason } = await toolServer.authorize({ token: '${token}', route: 'x', policy });
      console.log(reason);
    `;
    const given = [...fromSource, '--input-type=module', '--eval', program];
    const { stdout } = await run(process.execPath, given, { timeout: 25_000 });
    expect(stdout).to.equal('not_active\n');
    expect(asked()).to.equal(1);
  });
});

/** A response that ends within its body. */
function raw200(...[, response]: Parameters<Handler>): void {
  response.writeHead(200, { 'content-type': 'application/statuslist+jwt' }).write('ey');
}
