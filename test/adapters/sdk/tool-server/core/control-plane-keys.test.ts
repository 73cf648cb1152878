/** When the key cache fetches keys, and which keys it uses during a fetch (specification "Tool-server contract" 1). */

import { expect } from 'chai';
import type { ToolServer, ToolServerOptions } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { eventually } from '../../../../support/eventually.ts';
import { answering, STATUSES_BESIDE_200 } from '../../../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../../../support/moved-clock.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import { planeForEachTest } from '../../../../support/tool-server/control-plane.ts';

const KEYS = '/.well-known/jwks.json';
/** A time limit that a fetch is meant to exceed; an answer takes far less. */
const TIMEOUT_MS = 2000;

describe('A tool server', () => {
  let clock: MovedClock;
  let toolServer: ToolServer;
  let next: SigningKey;

  before(async () => {
    next = await makeSigningKey('ES256');
  });
  const fixture = planeForEachTest(() => clock.seconds());
  let plane: typeof fixture.plane;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    ({ plane } = fixture);
    toolServer = make();
  });

  const make = (options: Pick<ToolServerOptions, 'timeoutMs' | 'fetch'> = {}) =>
    fixture.toolServer({ now: () => clock.now() / 1000, ...options });

  async function ask(token = plane.token()): Promise<string> {
    const policy = toolServer.policy({ scope: ['jira:read'] });
    const access = await toolServer.authorize({ token, route: 'x', policy });
    return access.kind === 'allowed' ? 'allowed' : access.reason;
  }
  const times = (count: number, token?: string) => Promise.all(Array.from({ length: count }, () => ask(token)));
  const unknown = () => plane.token({}, { kid: 'unpublished' });

  it('fetches the keys once for concurrent requests, and not before the first request', async () => {
    expect(plane.asked(KEYS)).to.equal(0);
    expect(new Set(await times(50))).to.deep.equal(new Set(['allowed']));
    expect(plane.asked(KEYS)).to.equal(1);
  });

  it('accepts keys only with the status 200', async () => {
    for (const status of STATUSES_BESIDE_200) {
      toolServer = make();
      plane.answerKeys = answering({ keys: [plane.key.publicJwk] }, status);
      expect(await ask(), String(status)).to.equal('keys_unavailable');
    }
    expect(plane.asked(KEYS)).to.equal(STATUSES_BESIDE_200.length);
  });

  it('caches the keys for ten minutes, and then fetches them again', async () => {
    await ask();
    clock.advance(599);
    await times(10);
    expect(plane.asked(KEYS)).to.equal(1);
    clock.advance(1);
    await times(10);
    expect(plane.asked(KEYS)).to.equal(2);
  });

  it('refuses a key ten minutes after it was last published', async () => {
    await ask();
    plane.published = [next];
    clock.advance(599);
    expect(await ask()).to.equal('allowed');
    clock.advance(1);
    expect(await ask()).to.equal('unknown_key');
  });

  it('fetches the keys once in thirty seconds for a flood of unknown kids', async () => {
    await ask();
    expect(new Set(await times(100, unknown()))).to.deep.equal(new Set(['unknown_key']));
    expect(plane.asked(KEYS)).to.equal(2);
    clock.advance(29);
    await times(100, unknown());
    expect(plane.asked(KEYS)).to.equal(2);
    clock.advance(1);
    await times(100, unknown());
    expect(plane.asked(KEYS)).to.equal(3);
    expect(await ask()).to.equal('allowed');
  });

  it('does not fetch the keys twice for the same unknown kid', async () => {
    expect(await ask(unknown())).to.equal('unknown_key');
    expect(plane.asked(KEYS)).to.equal(1);
  });

  it('accepts a new key at once after a rotation', async () => {
    const old = plane.token();
    await ask();
    plane.published = [plane.key, next];
    plane.key = next;
    expect(new Set(await times(20))).to.deep.equal(new Set(['allowed']));
    expect(await ask(old)).to.equal('allowed');
    expect(plane.asked(KEYS)).to.equal(2);
  });

  it('fetches the keys again if the fetch under way began before the rotation', async () => {
    const earlier = answering({ keys: [plane.key.publicJwk] });
    const held: (() => void)[] = [];
    plane.answerKeys = (request, response) => void held.push(() => earlier(request, response));
    const first = ask();
    await eventually(() => held.length > 0);
    plane.published = [next];
    plane.key = next;
    plane.answerKeys = answering({ keys: [next.publicJwk] });
    const second = ask();
    held[0]?.();
    expect([await first, await second]).to.deep.equal(['allowed', 'allowed']);
  });

  it('refuses no valid token while the keys rotate under load', async () => {
    await ask();
    const verdicts: string[] = [];
    const spare = [next, plane.key];
    let ended = false;
    const load = Promise.all(
      Array.from({ length: 16 }, async () => {
        while (!ended) verdicts.push(await ask());
      }),
    );
    for (let round = 0; round < 20; round += 1) {
      const incoming = spare[round % 2] ?? next;
      plane.published = [incoming, plane.key];
      plane.key = incoming;
      const enough = verdicts.length + 32;
      await eventually(() => verdicts.length >= enough);
      clock.advance(31);
    }
    ended = true;
    await load;
    expect(verdicts.length).to.be.greaterThan(600);
    expect(verdicts.filter((verdict) => verdict !== 'allowed')).to.deep.equal([]);
  });

  for (const [what, answer, options] of [
    ['an error', answering({}, 500)],
    ['a body that is not a key set', answering({ keys: 'none' })],
    ['a set without keys', answering({ keys: [] })],
    ['a set with repeated members', answering('{"keys":[],"keys":[]}')],
    ['no response in time', () => undefined, { timeoutMs: TIMEOUT_MS }],
  ] as const) {
    it(`keeps its cached keys while the control plane answers with ${what}`, async () => {
      toolServer = make(options);
      await ask();
      plane.answerKeys = answer;
      clock.advance(600);
      expect(await ask()).to.equal('allowed');
      expect(plane.asked(KEYS)).to.equal(2);
      clock.advance(24 * 3600);
      expect(await ask()).to.equal('allowed');
    });
  }

  it('uses its cached keys without a wait during a known outage', async () => {
    await ask();
    plane.answerKeys = answering({}, 500);
    clock.advance(600);
    await ask();
    plane.answerKeys = () => undefined;
    clock.advance(30);
    const began = performance.now();
    expect(new Set(await times(10))).to.deep.equal(new Set(['allowed']));
    // An unanswered fetch ends after ten seconds.
    expect(performance.now() - began).to.be.lessThan(5000);
    await eventually(() => plane.asked(KEYS) === 3);
  });

  it('requests the keys at most once in thirty seconds during an outage', async () => {
    let fetches = 0;
    toolServer = make({
      fetch: (...request) => {
        fetches += 1;
        return fetch(...request);
      },
    });
    await ask();
    plane.answerKeys = answering({}, 500);
    clock.advance(600);
    await times(5);
    expect(fetches).to.equal(2);
    for (const seconds of [1, 28]) {
      clock.advance(seconds);
      expect(new Set(await times(5))).to.deep.equal(new Set(['allowed']));
      expect(fetches).to.equal(2);
    }
    clock.advance(1);
    await times(5);
    expect(fetches).to.equal(3);
  });

  it('fetches the keys again after an outage', async () => {
    await ask();
    const usual = plane.answerKeys;
    plane.answerKeys = answering({}, 503);
    clock.advance(600);
    await ask();
    plane.answerKeys = usual;
    plane.published = [plane.key, next];
    clock.advance(30);
    await ask();
    await eventually(() => plane.asked(KEYS) === 3);
    plane.key = next;
    expect(await ask()).to.equal('allowed');
    expect(plane.asked(KEYS)).to.equal(3);
  });

  it('requests the keys at most once a second until the first fetch succeeds', async () => {
    const usual = plane.answerKeys;
    plane.answerKeys = answering({}, 500);
    expect(new Set(await times(20))).to.deep.equal(new Set(['keys_unavailable']));
    expect(new Set(await times(20))).to.deep.equal(new Set(['keys_unavailable']));
    expect(plane.asked(KEYS)).to.equal(1);
    plane.answerKeys = usual;
    clock.advance(1);
    expect(await ask()).to.equal('allowed');
  });

  it('fetches the keys again after the clock was moved back', async () => {
    await ask();
    clock.advance(-3600);
    await ask();
    expect(plane.asked(KEYS)).to.equal(2);
  });

  it('ignores two keys with the same kid, and keys of another type', async () => {
    const other = { ...next.publicJwk, kid: plane.key.kid };
    const rsa = await makeSigningKey('RS256');
    plane.answerKeys = answering({ keys: [plane.key.publicJwk, other, rsa.publicJwk, next.publicJwk] });
    expect(await ask()).to.equal('unknown_key');
    expect(await ask(plane.token({}, { kid: rsa.kid }))).to.equal('unknown_key');
    plane.key = next;
    expect(await ask()).to.equal('allowed');
  });
});
