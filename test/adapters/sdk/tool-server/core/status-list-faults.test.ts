/** Which status lists a poller accepts. */

import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { STATUS_LIST_TYPE } from '../../../../../domain/tasks/status-list.ts';
import { answering, type Handler, STATUSES_BESIDE_200 } from '../../../../support/loopback.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import {
  DECIDED,
  FIRST_RETRY_MS,
  INTERVAL_MS,
  KEYS,
  LISTED,
  MAX_AGE_MS,
  NO_ANSWER,
  NOT_NEWER,
  NOT_SENT,
  OLD,
  OTHER_LISTS,
  PATH,
  pollingForEachTest,
  SKEW,
  UNKNOWN,
} from '../../../../support/tool-server/polled-lists.ts';
import { compressed, listUri, packed, sendList, signList, TTL } from '../../../../support/tool-server/status-lists.ts';

const SUB = 'Its sub is not the URI of the list.';
const SIGNATURE = 'Its signature is not accepted:';
const BITS = 'Its bits are not 2.';
const NOT_INFLATED = 'Its lst cannot be inflated, or is too long.';
const SIZE = 'Its number of entries is not a power of two in range.';
const MEDIA_TYPE = 'The answer is not of the type application/statuslist+jwt.';

describe('A tool server that polls status lists', () => {
  const polling = pollingForEachTest();
  const { make, seconds, both, sentence, list, serve, raw } = polling;
  let stranger: SigningKey;
  before(async () => {
    stranger = await makeSigningKey('ES256');
  });

  /** Serves a list, or sets another answer. */
  type Fault = () => void | Promise<void>;
  const answer = (handler: Handler): Fault => {
    return () => {
      polling.plane.answerStatus = handler;
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
      const whole = { alg: 'ES256', typ: STATUS_LIST_TYPE, kid: polling.plane.key.kid, ...header };
      polling.plane.answerStatus = sendList(polling.plane.key.sign(whole, payload()));
    };
  };
  const usual = () => ({
    sub: listUri(polling.plane),
    iat: seconds(),
    exp: seconds() + 60,
    ttl: TTL,
    status_list: { bits: 2, lst: compressed(good) },
  });
  const withStatus =
    (status: number): Fault =>
    async () => {
      const token = await list();
      polling.plane.answerStatus = (request, response) =>
        raw(request.path === PATH ? status : 200, token, { location: `${PATH}?moved` })(request, response);
    };

  const faults: readonly (readonly [what: string, problem: string, fault: Fault])[] = [
    ['another sub', SUB, claims(() => ({ sub: `${polling.plane.issuer}/status` }))],
    ['the sub of another list', SUB, claims(() => ({ sub: listUri(polling.plane, OTHER_LISTS[0]) }))],
    ['no sub', SUB, claims(() => ({ sub: undefined }))],
    ['the typ of a task token', `${SIGNATURE} wrong_type.`, () => serve({ header: { typ: 'at+jwt' } })],
    ['no typ', `${SIGNATURE} wrong_type.`, () => serve({ header: { typ: undefined } })],
    ['a key that is not published', `${SIGNATURE} unknown_key.`, () => serve({ key: stranger })],
    ['no kid', `${SIGNATURE} unknown_key.`, () => serve({ header: { kid: undefined } })],
    [
      ...(['the signature of another key', `${SIGNATURE} invalid_signature.`] as const),
      () => serve({ key: stranger, header: { kid: polling.plane.key.kid } }),
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
      expect(polling.problems).to.deep.equal([sentence(problem)]);

      await serve();
      await polling.clock.advance(FIRST_RETRY_MS);
      expect(await both()).to.deep.equal(DECIDED);
      await fault();
      await polling.clock.advance(MAX_AGE_MS);
      expect(await both()).to.deep.equal(DECIDED);
      await polling.clock.advance(1);
      expect(await both()).to.deep.equal(UNKNOWN);
      expect(polling.problems).to.deep.equal([sentence(problem), sentence(problem)]);

      await serve();
      await polling.clock.advance(INTERVAL_MS);
      expect(await both()).to.deep.equal(DECIDED);
      const sent = new Set(polling.plane.server.received.map(({ path }) => path));
      expect([...sent].filter((path) => path !== KEYS)).to.deep.equal([PATH]);
    });
  }

  it('does not use a list while the keys cannot be fetched', async () => {
    polling.plane.answerKeys = answering({}, 503);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(polling.problems).to.deep.equal([sentence(`${SIGNATURE} keys_unavailable.`)]);
  });

  it('accepts an iat and an exp within the clock skew', async () => {
    await serve({ claims: { iat: seconds() + SKEW } });
    expect(await both()).to.deep.equal(DECIDED);
    polling.lists = make();
    await serve({ claims: { exp: seconds() - SKEW + 1 } });
    expect(await both()).to.deep.equal(DECIDED);
  });

  it('refuses an earlier list with a fresh ETag as a replay', async () => {
    const earlier = await signList(polling.plane, seconds() - 1, {});
    expect(await both()).to.deep.equal(DECIDED);
    polling.plane.answerStatus = sendList(earlier);
    await polling.clock.advance(MAX_AGE_MS);
    expect(await both()).to.deep.equal(DECIDED);
    await polling.clock.advance(1);
    expect(await both()).to.deep.equal(UNKNOWN);
    expect(polling.problems).to.deep.equal([sentence(NOT_NEWER)]);
  });

  it('keeps its list when another one of the same second differs: a refused task is not accepted again', async () => {
    const [refusing, other] = [await list(), await signList(polling.plane, seconds(), {})];
    polling.plane.answerStatus = sendList(refusing);
    expect(await both()).to.deep.equal(DECIDED);
    polling.plane.answerStatus = sendList(other);
    await polling.clock.advance(INTERVAL_MS);
    expect(await both()).to.deep.equal(DECIDED);
    expect(polling.problems).to.deep.equal([sentence(NOT_NEWER)]);
    await serve();
    await polling.clock.advance(FIRST_RETRY_MS);
    await polling.clock.advance(MAX_AGE_MS - FIRST_RETRY_MS);
    expect(await both()).to.deep.equal(DECIDED);
  });
});
