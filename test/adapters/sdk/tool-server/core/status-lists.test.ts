/** The pollers of status lists: which lists they accept, how long a list decides, and which requests they send. */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { createHeaderAndPayload, StatusList } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import fc from 'fast-check';
import { controlPlane } from '../../../../../adapters/sdk/tool-server/core/control-plane.ts';
import { controlPlaneKeys } from '../../../../../adapters/sdk/tool-server/core/control-plane-keys.ts';
import { noSpan } from '../../../../../adapters/sdk/tool-server/core/span.ts';
import { type StatusLists, statusLists } from '../../../../../adapters/sdk/tool-server/core/status-lists.ts';
import { STATUS_LIST_TYPE } from '../../../../../domain/tasks/status-list.ts';
import { fromSource } from '../../../../../scripts/from-source.ts';
import { claimsOf } from '../../../../support/claims.ts';
import { eventually } from '../../../../support/eventually.ts';
import { byLength } from '../../../../support/length.ts';
import { answering, type Handler, STATUSES_BESIDE_200 } from '../../../../support/loopback.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import { AUDIENCE, type FakeControlPlane, planeForEachTest } from '../../../../support/tool-server/control-plane.ts';
import { type MovedPollClock, movedPollClock } from '../../../../support/tool-server/poll-clock.ts';
import {
  compressed,
  ENTRIES,
  etagOf,
  LIST_ID,
  type ListChanges,
  type ListedStatuses,
  listService,
  listUri,
  packed,
  sendList,
  signList,
  statusMember,
  TTL,
} from '../../../../support/tool-server/status-lists.ts';

const MAX_AGE_MS = 10_000;
const INTERVAL_MS = MAX_AGE_MS / 2;
const FIRST_RETRY_MS = INTERVAL_MS / 4;
const START = 1_900_000_000_000;
const PATH = `/status/${LIST_ID}`;
const KEYS = '/.well-known/jwks.json';
const SKEW = 60;
/** A time limit that a poll is meant to exceed; an answer takes far less. */
const TIMEOUT_MS = 2000;
const OTHER_LISTS = ['AAAAAAAAAAAAAAAAAAAAAA', 'BBBBBBBBBBBBBBBBBBBBBA'];
const run = promisify(execFile);
const PROMISE_RUNS = byLength({ short: 8, full: 100 });

/** Index 7 is over in the usual list, all others are valid. */
const LISTED = { 7: 1 } as const;
const [VALID, OVER] = [3, 7] as const;
const DECIDED = ['active', 'not_active'];
const UNKNOWN = ['unknown', 'unknown'];

const NO_ANSWER = 'No complete answer came.';
const SUB = 'Its sub is not the URI of the list.';
const SIGNATURE = 'Its signature is not accepted:';
const BITS = 'Its bits are not 2.';
const NOT_INFLATED = 'Its lst cannot be inflated, or is too long.';
const SIZE = 'Its number of entries is not a power of two in range.';
const MEDIA_TYPE = 'The answer is not of the type application/statuslist+jwt.';
const NOT_SENT = 'The answer is 304 for an ETag that was not sent.';
const NOT_NEWER = 'It is not newer than the list before.';
const OLD = 'Its iat is over 5 times its ttl ago.';

describe('A tool server that polls status lists', () => {
  let clock: MovedPollClock;
  let lists: StatusLists;
  let problems: string[];
  let stranger: SigningKey;
  let next: SigningKey;

  before(async () => {
    [stranger, next] = await Promise.all([makeSigningKey('ES256'), makeSigningKey('ES256')]);
  });
  const seconds = () => Math.floor(clock.now() / 1000);
  const fixture = planeForEachTest(seconds);
  let plane: FakeControlPlane;
  beforeEach(async () => {
    clock = movedPollClock(START);
    problems = [];
    ({ plane } = fixture);
    lists = make();
    await serve();
  });

  function make(timeoutMs = 60_000, maxAgeMs = MAX_AGE_MS): StatusLists {
    const { issuer } = plane;
    const server = controlPlane({ issuer, timeoutMs, fetch, startSpan: noSpan, now: () => Date.now() });
    return statusLists({
      plane: server,
      keys: controlPlaneKeys(server, clock.now),
      maxAgeMs,
      clock,
      options: { issuer, clockSkewSeconds: SKEW, timeoutMs, now: clock.now },
      report: ({ message }) => void problems.push(message),
    });
  }
  const askFor = async (claims: object) => (await lists.statusOf(claimsOf(claims))).kind;
  const ask = (index: number, listId?: string) => askFor({ status: statusMember(plane, index, listId) });
  const asked = () => plane.asked(PATH);
  const both = async () => [await ask(VALID), await ask(OVER)];
  const sentence = (problem: string) => `The status list ${listUri(plane)} is not usable. ${problem}`;

  const list = (changes?: ListChanges) => signList(plane, seconds(), LISTED, changes);
  async function serve(changes?: ListChanges, headers?: Readonly<Record<string, string>>): Promise<void> {
    plane.answerStatus = sendList(await list(changes), headers);
  }
  const raw =
    (status: number, body: string | Uint8Array = '', headers: Readonly<Record<string, string>> = {}): Handler =>
    (_, response) =>
      response.writeHead(status, { 'content-type': 'application/statuslist+jwt', ...headers }).end(body);

  /** Serves a list, or sets another answer. */
  type Fault = () => void | Promise<void>;
  const answer = (handler: Handler): Fault => {
    return () => {
      plane.answerStatus = handler;
    };
  };
  const claims = (members: () => Readonly<Record<string, unknown>>): Fault => {
    return () => serve({ claims: members() });
  };
  const lst = (text: () => unknown, bits: unknown = 2) => claims(() => ({ status_list: { bits, lst: text() } }));
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
  const good = packed(LISTED);
  const dated = (iat: number, exp: number) => claims(() => ({ iat: seconds() + iat, exp: seconds() + exp }));
  /** Without the key's library, which would refuse to sign this. */
  const signed = (header: object, payload: () => object | string): Fault => {
    return () => {
      const whole = { alg: 'ES256', typ: STATUS_LIST_TYPE, kid: plane.key.kid, ...header };
      plane.answerStatus = sendList(plane.key.sign(whole, payload()));
    };
  };
  const usual = () => ({
    sub: listUri(plane),
    iat: seconds(),
    exp: seconds() + 60,
    ttl: TTL,
    status_list: { bits: 2, lst: compressed(good) },
  });
  const withStatus =
    (status: number): Fault =>
    async () => {
      const token = await list();
      plane.answerStatus = (request, response) =>
        raw(request.path === PATH ? status : 200, token, { location: `${PATH}?moved` })(request, response);
    };

  const faults: readonly (readonly [what: string, problem: string, fault: Fault])[] = [
    ['another sub', SUB, claims(() => ({ sub: `${plane.issuer}/status` }))],
    ['the sub of another list', SUB, claims(() => ({ sub: listUri(plane, OTHER_LISTS[0]) }))],
    ['no sub', SUB, claims(() => ({ sub: undefined }))],
    ['the typ of a task token', `${SIGNATURE} wrong_type.`, () => serve({ header: { typ: 'at+jwt' } })],
    ['no typ', `${SIGNATURE} wrong_type.`, () => serve({ header: { typ: undefined } })],
    ['a key that is not published', `${SIGNATURE} unknown_key.`, () => serve({ key: stranger })],
    ['no kid', `${SIGNATURE} unknown_key.`, () => serve({ header: { kid: undefined } })],
    [
      ...(['the signature of another key', `${SIGNATURE} invalid_signature.`] as const),
      () => serve({ key: stranger, header: { kid: plane.key.kid } }),
    ],
    ['the algorithm none', `${SIGNATURE} unsupported_algorithm.`, signed({ alg: 'none' }, usual)],
    ['an exp as long ago as the clock skew', 'It has expired.', dated(0, -SKEW)],
    ['an iat beyond the clock skew', 'Its iat is in the future.', dated(SKEW + 30, 600)],
    ['an iat over five times its ttl and the clock skew ago', OLD, dated(-5 * TTL - SKEW - 1, 600)],
    ['no iat', 'It has no iat or no exp.', claims(() => ({ iat: undefined }))],
    ['no exp', 'It has no iat or no exp.', claims(() => ({ exp: undefined }))],
    [
      'an exp of 1e400',
      'It is not a well-formed JWS.',
      signed({}, () => JSON.stringify(usual()).replace(/"exp":\d+/, '"exp":1e400')),
    ],
    [
      'a repeated member',
      'It is not a well-formed JWS.',
      signed({}, () => `{"sub":"x",${JSON.stringify(usual()).slice(1)}`),
    ],
    ['a body that is not a JWS', 'It is not a well-formed JWS.', answer(raw(200, '{}'))],
    ['no status_list', 'It has no status_list.', claims(() => ({ status_list: undefined }))],
    ['statuses of one bit', BITS, lst(() => compressed(good), 1)],
    ['statuses of four bits', BITS, lst(() => compressed(good), 4)],
    ['statuses of eight bits', BITS, lst(() => compressed(good), 8)],
    ['a string as bits', BITS, lst(() => compressed(good), '2')],
    ['no lst', 'Its lst is not base64url.', lst(() => undefined)],
    ['a padded lst', 'Its lst is not base64url.', lst(() => `${compressed(good)}=`)],
    ['statuses that are not compressed', NOT_INFLATED, lst(() => text(good))],
    ['statuses deflated without the zlib header', NOT_INFLATED, lst(() => text(deflateRawSync(good)))],
    ['statuses in gzip', NOT_INFLATED, lst(() => text(gzipSync(good)))],
    ['half of the compressed bytes', NOT_INFLATED, lst(() => text(deflateSync(good).subarray(0, 10)))],
    ['a deflate bomb of 20 MB', NOT_INFLATED, lst(() => compressed(Buffer.alloc(20_000_000)))],
    ['2^21 entries', NOT_INFLATED, () => serve({ bytes: packed(LISTED, 2 ** 21) })],
    ['2^9 entries', SIZE, () => serve({ bytes: packed(LISTED, 2 ** 9) })],
    ['one byte less', SIZE, () => serve({ bytes: good.subarray(0, -1) })],
    ['one byte more', SIZE, () => serve({ bytes: Buffer.concat([good, Buffer.alloc(1)]) })],
    ['no entries', SIZE, () => serve({ bytes: new Uint8Array() })],
    ['another media type', MEDIA_TYPE, () => serve({}, { 'content-type': 'application/jwt' })],
    ['no media type', MEDIA_TYPE, () => serve({}, { 'content-type': '' })],
    ['a body of 10 MB', NO_ANSWER, answer(raw(200, 'x'.repeat(10_000_000)))],
    [
      ...(['a body in gzip that inflates to 10 MB', NO_ANSWER] as const),
      answer(raw(200, gzipSync(Buffer.alloc(10_000_000, 'x')), { 'content-encoding': 'gzip' })),
    ],
    [
      'half of its body',
      NO_ANSWER,
      answer((_, response) => {
        response.writeHead(200, { 'content-type': 'application/statuslist+jwt', 'content-length': '1000' });
        response.write('ey', () => response.destroy());
      }),
    ],
    ['a cut connection', NO_ANSWER, answer((_, response) => response.destroy())],
    ['a 304 for another ETag', NOT_SENT, answer(raw(304, '', { etag: '"another"' }))],
    ...STATUSES_BESIDE_200.map((status) => {
      const isFollowed = [301, 302, 303, 307, 308].includes(status);
      const problem = isFollowed ? NO_ANSWER : `The answer has the status ${status}.`;
      return [`the status ${status}`, problem, withStatus(status)] as const;
    }),
  ];
  for (const [what, problem, fault] of faults) {
    it(`does not use a list with ${what}, keeps the one before until it is stale, and reports this once`, async () => {
      await fault();
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(problems).to.deep.equal([sentence(problem)]);

      await serve();
      await clock.advance(FIRST_RETRY_MS);
      expect(await both()).to.deep.equal(DECIDED);
      await fault();
      await clock.advance(MAX_AGE_MS);
      expect(await both()).to.deep.equal(DECIDED);
      await clock.advance(1);
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(problems).to.deep.equal([sentence(problem), sentence(problem)]);

      await serve();
      await clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(DECIDED);
      const sent = new Set(plane.server.received.map(({ path }) => path));
      expect([...sent].filter((path) => path !== KEYS)).to.deep.equal([PATH]);
    });
  }

  it('does not use a list while the keys cannot be fetched', async () => {
    plane.answerKeys = answering({}, 503);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(problems).to.deep.equal([sentence(`${SIGNATURE} keys_unavailable.`)]);
  });

  it('accepts an iat and an exp within the clock skew', async () => {
    await serve({ claims: { iat: seconds() + SKEW } });
    expect(await both()).to.deep.equal(DECIDED);
    lists = make();
    await serve({ claims: { exp: seconds() - SKEW + 1 } });
    expect(await both()).to.deep.equal(DECIDED);
  });

  it('refuses an earlier list with a fresh ETag as a replay', async () => {
    const earlier = await signList(plane, seconds() - 1, {});
    expect(await both()).to.deep.equal(DECIDED);
    plane.answerStatus = sendList(earlier);
    await clock.advance(MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    await clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(problems).to.deep.equal([sentence(NOT_NEWER)]);
  });

  it('keeps its list when another one of the same second differs: a refused task is not accepted again', async () => {
    const [refusing, other] = [await list(), await signList(plane, seconds(), {})];
    plane.answerStatus = sendList(refusing);
    expect(await both()).to.deep.equal(DECIDED);
    plane.answerStatus = sendList(other);
    await clock.advance(INTERVAL_MS);
    expect(await both()).to.deep.equal(DECIDED);
    expect(problems).to.deep.equal([sentence(NOT_NEWER)]);
    await serve();
    await clock.advance(FIRST_RETRY_MS);
    await clock.advance(MAX_AGE_MS - FIRST_RETRY_MS);
    expect(await both()).to.deep.equal(DECIDED);
  });

  for (const [what, lost] of [
    ['is lost', raw(503)],
    ['gets the earlier list of another replica', undefined],
  ] as const) {
    it(`polls again before its list is stale if a poll ${what}`, async () => {
      const earlier = sendList(await signList(plane, seconds() - 1, LISTED));
      await both();
      let polls = 0;
      plane.answerStatus = async (...call) => {
        polls += 1;
        const answer = polls % 2 === 1 ? (lost ?? earlier) : sendList(await list());
        answer(...call);
      };
      for (let passed = 0; passed < 8 * MAX_AGE_MS; passed += 100) {
        await clock.advance(100);
        expect(await both(), `after ${passed} ms`).to.deep.equal(DECIDED);
      }
      expect(polls).to.be.above(16);
    });
  }

  it('soon polls as rarely as without a failure while the control plane is away', async () => {
    await both();
    plane.answerStatus = raw(503);
    const shares: number[] = [];
    for (let quarter = 1; quarter <= 20; quarter += 1) {
      const before = asked();
      await clock.advance(FIRST_RETRY_MS);
      await both();
      if (asked() > before) shares.push(quarter / 4);
    }
    // In intervals after the first poll: the one that fails, a quarter and three quarters later, then one for each.
    expect(shares).to.deep.equal([1, 1.25, 1.75, 2.75, 3.75, 4.75]);
  });

  it('leaves time for another poll before its list is stale if one gets no answer', async () => {
    lists = make(60_000, 4 * TIMEOUT_MS);
    expect(await both()).to.deep.equal(DECIDED);
    plane.answerStatus = () => undefined;
    const began = performance.now();
    await clock.advance(2 * TIMEOUT_MS);
    expect(performance.now() - began).to.be.within(TIMEOUT_MS - 100, 2 * TIMEOUT_MS);
    expect(problems).to.deep.equal([sentence(NO_ANSWER)]);
  });

  it('accepts a 304 only as the answer to an ETag that it sent', async () => {
    plane.answerStatus = raw(304);
    expect(await both()).to.deep.equal(UNKNOWN);
    plane.answerStatus = raw(200, await list());
    await clock.advance(INTERVAL_MS);
    expect(await both()).to.deep.equal(DECIDED);
    plane.answerStatus = raw(304);
    await clock.advance(MAX_AGE_MS + 1);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(problems).to.deep.equal([sentence(NOT_SENT), sentence(NOT_SENT)]);
  });

  it('polls with the ETag of its list, past all caches, and a 304 keeps the list fresh', async () => {
    const token = await list({ claims: { ttl: 60 } });
    plane.answerStatus = sendList(token);
    for (let polls = 1; polls <= 8; polls += 1) {
      expect(await both()).to.deep.equal(DECIDED);
      await clock.advance(INTERVAL_MS);
    }
    const polls = plane.server.received.filter(({ path }) => path === PATH);
    expect(polls).to.have.length(9);
    const [first, ...others] = polls.map(({ headers }) => headers['if-none-match']);
    expect(first).to.equal(undefined);
    expect(new Set(others)).to.deep.equal(new Set([etagOf(token)]));
    for (const { method, headers } of polls) {
      expect([method, headers.accept]).to.deep.equal(['GET', 'application/statuslist+jwt']);
      expect(headers['cache-control']).to.equal('no-cache');
    }
    expect(problems).to.deep.equal([]);
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
      plane.answerStatus = (...call) => next()(...call);
      expect(await both()).to.deep.equal(DECIDED);
      await clock.advance(MAX_AGE_MS);
      expect(await both()).to.deep.equal(DECIDED);
      await clock.advance(1);
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(problems).to.deep.equal([sentence(NOT_NEWER)]);
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
        await clock.advance(INTERVAL_MS);
        expect(await both()).to.deep.equal(DECIDED);
      }
      await clock.advance(1);
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(problems).to.deep.equal([sentence(NOT_NEWER)]);
      const polls = plane.server.received.filter(({ path }) => path === PATH);
      const tagged = polls.filter(({ headers }) => headers['if-none-match'] !== undefined);
      expect(tagged).to.have.length(forMs / INTERVAL_MS);
      expect(polls.slice(1, tagged.length + 1)).to.deep.equal(tagged);

      plane.answerStatus = raw(304);
      await clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(UNKNOWN);
      await serve({ claims: { ttl } });
      await clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(DECIDED);
    });
  }

  it('takes a replayed list after a restart until five times its ttl and the clock skew after it was made, whatever confirms it', async () => {
    const old = await list({ claims: { iat: seconds() - 5 * TTL - SKEW, exp: seconds() + 600 } });
    plane.answerStatus = sendList(old);
    expect(await both()).to.deep.equal(DECIDED);
    const forged = raw(304, '', { etag: etagOf(old) });
    for (let passed = 0; passed < MAX_AGE_MS; passed += INTERVAL_MS) {
      plane.answerStatus = passed % 2 === 0 ? forged : sendList(old);
      await clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(DECIDED);
    }
    await clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
    lists = make();
    plane.answerStatus = sendList(old);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(problems).to.include(sentence(OLD));
  });

  it('counts the age of a list from the start of its fetch', async () => {
    const token = await list();
    plane.answerStatus = (...call) => {
      clock.pass(3000);
      plane.answerStatus = raw(503);
      sendList(token)(...call);
    };
    expect(await both()).to.deep.equal(DECIDED);
    await clock.advance(MAX_AGE_MS - 3000);
    expect(await both()).to.deep.equal(DECIDED);
    await clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
  });

  it('uses a list no longer because the clock was set back', async () => {
    expect(await both()).to.deep.equal(DECIDED);
    clock.set(START - 3_600_000);
    expect(await both()).to.deep.equal(DECIDED);
    plane.answerStatus = raw(503);
    await clock.advance(MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    await clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
  });

  it('does not use a list from before the machine was suspended', async () => {
    expect(await both()).to.deep.equal(DECIDED);
    clock.set(START + MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    clock.set(START + MAX_AGE_MS + 1);
    expect(await both()).to.deep.equal(UNKNOWN);
    await serve();
    await clock.advance(INTERVAL_MS);
    expect(await both()).to.deep.equal(DECIDED);
  });

  it('does not use a list after its exp, even if it is confirmed', async () => {
    await serve({ claims: { exp: seconds() - SKEW + 6, ttl: 60 } });
    await both();
    await clock.advance(5999);
    expect(await both()).to.deep.equal(DECIDED);
    await clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(problems).to.deep.equal([]);
  });

  for (const [value, kind] of [
    [0, 'active'],
    [1, 'not_active'],
    [2, 'not_active'],
    [3, 'ask'],
  ] as const) {
    it(`reads the status ${value} as ${kind}`, async () => {
      plane.answerStatus = sendList(await signList(plane, seconds(), { 0: value, [ENTRIES - 1]: value }));
      expect([await ask(0), await ask(1), await ask(ENTRIES - 1)]).to.deep.equal([kind, 'active', kind]);
    });
  }

  it('counts an index beyond the list as not active', async () => {
    expect([await ask(ENTRIES - 1), await ask(ENTRIES), await ask(2 ** 53 - 1)]).to.deep.equal([
      ...['active', 'not_active', 'not_active'],
    ]);
  });

  for (const count of [2 ** 10, 2 ** 20]) {
    it(`uses a list of ${count} entries`, async () => {
      await serve({ bytes: randomly(count) });
      expect(await ask(count - 1)).to.equal('not_active');
      expect(await ask(count)).to.equal('not_active');
    });
  }

  it('sends no request for a token without a reference to a list of its control plane', async () => {
    const at = (uri: unknown, idx: unknown = 0) => ({ status: { status_list: { idx, uri } } });
    const own = listUri(plane);
    for (const claims of [
      ...[{}, { status: null }, { status: own }, { status: {} }, { status: { status_list: [0, own] } }],
      ...[
        at(undefined),
        at(7),
        at([own]),
        at(`${plane.issuer}.example/status/${LIST_ID}`),
        at(own.replace('http', 'HTTP')),
      ],
      ...[at(`${plane.issuer}/status/`), at(`${plane.issuer}/status`), at(`${plane.issuer}/statuses/${LIST_ID}`)],
      ...[at(`${plane.issuer}/status/../oauth2/introspect`), at(`${own}/../x`), at(`${own}?a`), at(`${own}#a`)],
      ...[at(`${own}/`), at(`${plane.issuer}/status/%2e%2e`), at(`${plane.issuer}/status/${'a'.repeat(65)}`)],
      ...[at(own, -1), at(own, 0.5), at(own, '0'), at(own, null), at(own, 2 ** 53)],
    ]) {
      expect(await lists.statusOf(claimsOf(claims)), JSON.stringify(claims)).to.deep.equal({
        kind: 'unknown',
        retryAfter: undefined,
      });
    }
    expect(plane.server.received).to.deep.equal([]);
  });

  it('lets introspection decide about a token that is newer than the list: its index may have been of another task', async () => {
    const kindAt = (iat: unknown, index: number = OVER) => askFor({ iat, status: statusMember(plane, index) });
    expect(await kindAt(seconds() - 1)).to.equal('not_active');
    for (const iat of [seconds(), seconds() + 1]) expect(await kindAt(iat)).to.equal('ask');
    expect([await kindAt(seconds(), VALID), await kindAt(seconds(), ENTRIES)]).to.deep.equal(['active', 'not_active']);
    // The strict reader has refused a token with an iat of another form.
    expect(await kindAt(undefined)).to.equal('not_active');
  });

  it('polls before its list expires, however long maxAgeMs is', async () => {
    lists = make(60_000, 600_000);
    const ttl = 1;
    plane.answerStatus = async (...call) => {
      const [iat, exp] = [seconds(), seconds() + 12 * ttl];
      sendList(await signList(plane, iat, LISTED, { claims: { exp, ttl } }))(...call);
    };
    for (let passed = 0; passed < 900_000; passed += 5000) {
      expect(await both(), `after ${passed} ms`).to.deep.equal(DECIDED);
      await clock.advance(5000);
    }
    expect(asked()).to.be.within(20, 30);
    expect(problems).to.deep.equal([]);
  });

  it('polls no sooner than after the ttl, however soon its list expires', async () => {
    await serve({ claims: { exp: seconds() - SKEW + 1, ttl: 2 } });
    await both();
    await clock.advance(1999);
    expect(asked()).to.equal(1);
    await clock.advance(1);
    expect(asked()).to.equal(2);
  });

  it('asks no list about a token that expired over a minute ago: its index may be that of another task', async () => {
    const kindAt = (exp: number) => askFor({ exp, status: statusMember(plane, OVER) });
    expect(await kindAt(seconds() - 60)).to.equal('unknown');
    expect(plane.server.received).to.deep.equal([]);
    expect(await kindAt(seconds() - 59)).to.equal('not_active');
  });

  it('fetches a list once for 100 concurrent first tokens', async () => {
    const kinds = await Promise.all(Array.from({ length: 100 }, () => ask(OVER)));
    expect(new Set(kinds)).to.deep.equal(new Set(['not_active']));
    expect([asked(), plane.asked(KEYS)]).to.deep.equal([1, 1]);
  });

  it('sends one request for each list and interval under load, for three lists at once', async () => {
    const all = [LIST_ID, ...OTHER_LISTS];
    plane.answerStatus = listService(
      plane,
      () => clock.now() / 1000,
      (listId) => ({ [all.indexOf(listId)]: 1 }),
    );
    for (let step = 0; step < 40; step += 1) {
      const kinds = await Promise.all(
        all.flatMap((listId) => [0, 1, 2].flatMap((index) => Array.from({ length: 10 }, () => ask(index, listId)))),
      );
      expect(kinds.filter((kind) => kind === 'not_active')).to.have.length(30);
      expect(kinds.filter((kind) => kind === 'active')).to.have.length(60);
      await clock.advance(INTERVAL_MS / 10);
    }
    expect(all.map((listId) => plane.asked(`/status/${listId}`))).to.deep.equal([5, 5, 5]);
    expect(problems).to.deep.equal([]);
  });

  for (const [what, slow, timeoutMs, maxAgeMs] of [
    ['an answer no longer than timeoutMs', () => undefined, TIMEOUT_MS, 60_000],
    ['the rest of a body no longer than half of maxAgeMs', raw200, 60_000, 2 * TIMEOUT_MS],
  ] as const) {
    it(`waits for ${what}`, async () => {
      lists = make(timeoutMs, maxAgeMs);
      plane.answerStatus = slow;
      const began = performance.now();
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(performance.now() - began).to.be.within(TIMEOUT_MS - 100, 20_000);
      expect(problems).to.deep.equal([sentence(NO_ANSWER)]);
    });
  }

  it('lets no token wait for a later poll', async () => {
    await both();
    const held: (() => void)[] = [];
    plane.answerStatus = (...call) => void held.push(() => raw(503)(...call));
    const polled = clock.advance(INTERVAL_MS);
    await eventually(() => held.length === 1);
    expect(await both()).to.deep.equal(DECIDED);
    clock.pass(INTERVAL_MS + 1);
    expect(await both()).to.deep.equal(UNKNOWN);
    held[0]?.();
    await polled;
  });

  it('repeats the Retry-After of the control plane', async () => {
    plane.answerStatus = raw(503, '', { 'retry-after': '7' });
    const status = { status_list: { idx: 0, uri: listUri(plane) } };
    expect(await lists.statusOf(claimsOf({ status }))).to.deep.equal({ kind: 'unknown', retryAfter: '7' });
  });

  it('uses a list with a new key at once after a rotation', async () => {
    await both();
    plane.published = [plane.key, next];
    plane.key = next;
    await clock.advance(INTERVAL_MS - 1);
    await serve();
    await clock.advance(1);
    plane.answerStatus = raw(503);
    await clock.advance(MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    expect(plane.asked(KEYS)).to.equal(2);
  });

  it('stops after six polls without a token, and starts again with the next one', async () => {
    await serve({ claims: { ttl: 60 } });
    await both();
    await clock.advance(6 * INTERVAL_MS);
    expect([asked(), clock.pending()]).to.deep.equal([7, 1]);
    await clock.advance(INTERVAL_MS);
    expect([asked(), clock.pending()]).to.deep.equal([7, 0]);
    await clock.advance(INTERVAL_MS + 1);
    await serve();
    expect(await both()).to.deep.equal(DECIDED);
    expect([asked(), clock.pending()]).to.deep.equal([8, 1]);
  });

  it('lets no token wait for the first poll after a stop if its list is fresh', async () => {
    await serve({ claims: { ttl: 60 } });
    await both();
    await clock.advance(7 * INTERVAL_MS);
    expect(clock.pending()).to.equal(0);
    const held: (() => void)[] = [];
    plane.answerStatus = (...call) => void held.push(() => raw(503)(...call));
    expect(await both()).to.deep.equal(DECIDED);
    expect(problems).to.deep.equal([]);
    await eventually(() => held.length === 1);
    held[0]?.();
    await eventually(() => clock.pending() === 1);
  });

  it('refuses a replay also after a stop, and forgets a list only when it has expired', async () => {
    const earlier = await signList(plane, seconds() - 1, {});
    await serve({ claims: { ttl: 60 } });
    await both();
    await clock.advance(9 * INTERVAL_MS);
    expect(clock.pending()).to.equal(0);
    await ask(VALID, OTHER_LISTS[0]);
    plane.answerStatus = sendList(earlier);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(problems.at(-1)).to.equal(sentence(NOT_NEWER));

    await clock.advance((12 * TTL + SKEW) * 1000);
    expect(clock.pending()).to.equal(0);
    await ask(VALID, OTHER_LISTS[1]);
    await serve();
    expect(await both()).to.deep.equal(DECIDED);
    expect(plane.server.received.findLast(({ path }) => path === PATH)?.headers).not.to.have.property('if-none-match');
  });

  for (const [what, replay, withinMs] of [
    ['ttl and maxAgeMs, also if the list from before is replayed with fresh ETags', true, TTL * 1000 + MAX_AGE_MS],
    ['six times ttl and maxAgeMs, also if each poll is answered 304', false, 6 * TTL * 1000 + MAX_AGE_MS],
  ] as const) {
    it(`refuses a killed task within ${what} ever after`, async () => {
      for (let ageMs = 0; ageMs <= TTL * 1000; ageMs += 500) {
        clock = movedPollClock(START);
        lists = make();
        const token = await signList(plane, seconds(), {});
        let nth = 0;
        plane.answerStatus = (...call) => sendList(token, {}, replay ? `"${nth++}"` : '"0"')(...call);
        // The task is killed as soon as the list is made.
        await clock.advance(ageMs);
        while (clock.monotonic() <= withinMs) {
          await ask(5);
          await clock.advance(100);
        }
        expect(await ask(5), `the list was ${ageMs} ms old`).to.equal('unknown');
      }
    });
  }

  /** Two replicas, of which the second one's clock is ahead. */
  const replicas = (aheadMs: number, statuses: () => ListedStatuses) =>
    [0, aheadMs].map((ahead) => listService(plane, () => (clock.now() + ahead) / 1000, statuses));

  it('refuses a killed task within ttl and maxAgeMs, whichever polls fail, and whichever replica answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 25_000 }),
        fc.integer({ min: 0, max: 19_999 }),
        fc.integer({ min: -30_000, max: 30_000 }),
        fc.array(fc.constantFrom<'lost' | number>('lost', 0, 1), { maxLength: 12 }),
        async (killMs, phaseMs, aheadMs, polls) => {
          clock = movedPollClock(START + phaseMs);
          lists = make();
          let killedAt: number | undefined;
          const services = replicas(aheadMs, () => (killedAt === undefined ? {} : { 5: 1 }));
          let nth = 0;
          plane.answerStatus = (...call) => {
            const to = polls[nth] ?? nth % 2;
            nth += 1;
            (to === 'lost' ? raw(503) : services[to])?.(...call);
          };
          const kinds = new Set<string>();
          while (killedAt === undefined || clock.monotonic() - killedAt < 60_000) {
            if (killedAt === undefined && clock.monotonic() >= killMs) killedAt = clock.monotonic();
            const kind = await ask(5);
            kinds.add(kind);
            if (killedAt !== undefined && clock.monotonic() - killedAt > TTL * 1000 + MAX_AGE_MS) {
              expect(kind).not.to.equal('active');
            }
            await clock.advance(700);
          }
          expect(kinds).to.include('not_active');
        },
      ),
      { numRuns: PROMISE_RUNS },
    );
  });

  it('always has a fresh list of two replicas whose clocks differ by a second, and mostly by a 304', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 19_999 }),
        fc.integer({ min: -1000, max: 1000 }),
        fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 40, maxLength: 80 }),
        async (phaseMs, aheadMs, polls) => {
          clock = movedPollClock(START + phaseMs);
          lists = make();
          const services = replicas(aheadMs, () => LISTED);
          const statuses: number[] = [];
          plane.answerStatus = (request, response) => {
            response.once('finish', () => statuses.push(response.statusCode));
            services[polls[statuses.length % polls.length] ?? 0]?.(request, response);
          };
          for (let passed = 0; passed < 16 * TTL * 1000; passed += 500) {
            expect(await both(), `after ${passed} ms`).to.deep.equal(DECIDED);
            await clock.advance(500);
          }
          expect(statuses.filter((status) => status === 304).length).to.be.above(statuses.length / 2);
        },
      ),
      { numRuns: PROMISE_RUNS },
    );
  });

  it('reads a list made by @sd-jwt/jwt-status-list', async () => {
    const values = Array.from({ length: ENTRIES }, (_, index) => (index * 7 + (index >> 3)) % 4);
    const members = { sub: listUri(plane), iat: seconds(), exp: seconds() + 60, ttl: TTL };
    const made = createHeaderAndPayload(new StatusList(values, 2), members, {
      alg: 'ES256',
      typ: STATUS_LIST_TYPE,
      kid: plane.key.kid,
    });
    plane.answerStatus = sendList(plane.key.sign(made.header, made.payload));
    const kinds = await Promise.all(values.map((_, index) => ask(index)));
    const expected = ['active', 'not_active', 'not_active', 'ask'];
    expect(kinds).to.deep.equal(values.map((value) => expected[value]));
  });

  it('keeps no process alive', async () => {
    const tool = new URL('../../../../../adapters/sdk/tool-server/core/tool-server.ts', import.meta.url).href;
    const options = { issuer: plane.issuer, audience: AUDIENCE, statusList: { maxAgeMs: 600_000 } };
    const token = plane.token({ iat: seconds() - 1, status: statusMember(plane, OVER) });
    const program = `
      const { createToolServer } = await import(${JSON.stringify(tool)});
      const toolServer = createToolServer({ ...${JSON.stringify(options)}, now: () => ${clock.now()}, onAccess: () => {} });
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

/** Statuses that do not compress, and 1 at the last index. */
function randomly(count: number): Uint8Array {
  const bytes = randomBytes(count / 4);
  bytes[bytes.length - 1] = 0b0100_0000;
  return bytes;
}

/** A response that ends within its body. */
function raw200(...[, response]: Parameters<Handler>): void {
  response.writeHead(200, { 'content-type': 'application/statuslist+jwt' }).write('ey');
}
