/** How pollers read the status of a token in a list. */

import { randomBytes } from 'node:crypto';
import { createHeaderAndPayload, StatusList } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import { STATUS_LIST_TYPE } from '../../../../../domain/tasks/status-list.ts';
import { claimsOf } from '../../../../support/claims.ts';
import { OVER, pollingForEachTest, VALID } from '../../../../support/tool-server/polled-lists.ts';
import {
  ENTRIES,
  LIST_ID,
  listUri,
  sendList,
  signList,
  statusMember,
  TTL,
} from '../../../../support/tool-server/status-lists.ts';

describe('A tool server that polls status lists', () => {
  const polling = pollingForEachTest();
  const { seconds, askFor, ask, serve } = polling;

  for (const [value, kind] of [
    [0, 'active'],
    [1, 'not_active'],
    [2, 'not_active'],
    [3, 'ask'],
  ] as const) {
    it(`reads the status ${value} as ${kind}`, async () => {
      polling.plane.answerStatus = sendList(
        await signList(polling.plane, seconds(), { 0: value, [ENTRIES - 1]: value }),
      );
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
    const own = listUri(polling.plane);
    for (const claims of [
      ...[{}, { status: null }, { status: own }, { status: {} }, { status: { status_list: [0, own] } }],
      ...[
        at(undefined),
        at(7),
        at([own]),
        at(`${polling.plane.issuer}.example/status/${LIST_ID}`),
        at(own.replace('http', 'HTTP')),
      ],
      ...[
        at(`${polling.plane.issuer}/status/`),
        at(`${polling.plane.issuer}/status`),
        at(`${polling.plane.issuer}/statuses/${LIST_ID}`),
      ],
      ...[at(`${polling.plane.issuer}/status/../oauth2/introspect`), at(`${own}/../x`), at(`${own}?a`), at(`${own}#a`)],
      ...[
        at(`${own}/`),
        at(`${polling.plane.issuer}/status/%2e%2e`),
        at(`${polling.plane.issuer}/status/${'a'.repeat(65)}`),
      ],
      ...[at(own, -1), at(own, 0.5), at(own, '0'), at(own, null), at(own, 2 ** 53)],
    ]) {
      expect(await polling.lists.statusOf(claimsOf(claims)), JSON.stringify(claims)).to.deep.equal({
        kind: 'unknown',
        retryAfter: undefined,
      });
    }
    expect(polling.plane.server.received).to.deep.equal([]);
  });

  it('lets introspection decide about a token that is newer than the list: its index may have been of another task', async () => {
    const kindAt = (iat: unknown, index: number = OVER) => askFor({ iat, status: statusMember(polling.plane, index) });
    expect(await kindAt(seconds() - 1)).to.equal('not_active');
    for (const iat of [seconds(), seconds() + 1]) expect(await kindAt(iat)).to.equal('ask');
    expect([await kindAt(seconds(), VALID), await kindAt(seconds(), ENTRIES)]).to.deep.equal(['active', 'not_active']);
    // The strict reader has refused a token with an iat of another form.
    expect(await kindAt(undefined)).to.equal('not_active');
  });

  it('reads a list made by @sd-jwt/jwt-status-list', async () => {
    const values = Array.from({ length: ENTRIES }, (_, index) => (index * 7 + (index >> 3)) % 4);
    const members = { sub: listUri(polling.plane), iat: seconds(), exp: seconds() + 60, ttl: TTL };
    const made = createHeaderAndPayload(new StatusList(values, 2), members, {
      alg: 'ES256',
      typ: STATUS_LIST_TYPE,
      kid: polling.plane.key.kid,
    });
    polling.plane.answerStatus = sendList(polling.plane.key.sign(made.header, made.payload));
    const kinds = await Promise.all(values.map((_, index) => ask(index)));
    const expected = ['active', 'not_active', 'not_active', 'ask'];
    expect(kinds).to.deep.equal(values.map((value) => expected[value]));
  });
});

/** Statuses that do not compress, and 1 at the last index. */
function randomly(count: number): Uint8Array {
  const bytes = randomBytes(count / 4);
  bytes[bytes.length - 1] = 0b0100_0000;
  return bytes;
}
