/** One HTTP request to the control plane with its answer, and the limits of time and size. */

import { expect } from 'chai';
import { type ControlPlane, controlPlane } from '../../../../../adapters/sdk/tool-server/core/control-plane.ts';
import { noSpan } from '../../../../../adapters/sdk/tool-server/core/span.ts';
import { answering, type Loopback, loopbackForSuite } from '../../../../support/loopback.ts';

const MAX_BYTES = 64 * 1024;
const NOW = Date.parse('2026-11-21T07:27:30Z');

describe('A request of a tool server to the control plane', () => {
  const server = loopbackForSuite();
  let plane: ControlPlane;
  beforeEach(() => {
    plane = to({});
  });

  const to = (options: { readonly timeoutMs?: number; readonly fetch?: typeof fetch }): ControlPlane =>
    controlPlane({ issuer: server.url, timeoutMs: 10_000, fetch, startSpan: noSpan, now: () => NOW, ...options });
  const raw =
    (body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}, status = 200): Loopback['answer'] =>
    (_, response) =>
      response.writeHead(status, headers).end(body);

  it('is a GET or a form, and returns status and body', async () => {
    server.answer = answering({ a: 1 }, 207);
    const answer = { status: 207, body: '{"a":1}', retryAfter: undefined };
    expect(await plane.get('/keys?x=1')).to.deep.equal(answer);
    expect(await plane.post('/introspect', { token: 'a.b+c&d' })).to.deep.equal(answer);
    expect(server.received.map(({ method, path, body }) => [method, path, body])).to.deep.equal([
      ['GET', '/keys?x=1', ''],
      ['POST', '/introspect', 'token=a.b%2Bc%26d'],
    ]);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`does not follow a redirect with the status ${status}`, async () => {
      server.answer = raw('{}', { location: `${server.url}/elsewhere` }, status);
      expect(await plane.get('/keys')).to.equal(undefined);
      expect(await plane.post('/introspect', { token: 'a.b.c' })).to.equal(undefined);
      expect(server.received.map(({ path }) => path)).to.deep.equal(['/keys', '/introspect']);
    });
  }

  it('returns an answer of 64 KiB, and nothing for a longer one', async () => {
    server.answer = raw('x'.repeat(MAX_BYTES));
    expect((await plane.get('/keys'))?.body).to.have.length(MAX_BYTES);
    server.answer = raw('x'.repeat(MAX_BYTES + 1));
    expect(await plane.get('/keys')).to.equal(undefined);
  });

  it('returns nothing for an answer that is incomplete or not UTF-8', async () => {
    server.answer = raw(Buffer.from('{"sub":"\u00ff"}', 'latin1'));
    expect(await plane.get('/keys')).to.equal(undefined);
    server.answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"keys":', () => response.destroy());
    };
    expect(await plane.get('/keys')).to.equal(undefined);
    server.answer = (_, response) => response.destroy();
    expect(await plane.get('/keys')).to.equal(undefined);
  });

  it('ends at its time limit, also for a slow body and for a fetch that ignores its signal', async () => {
    server.answer = (_, response) => response.writeHead(200).write('{');
    expect(await to({ timeoutMs: 20 }).get('/keys')).to.equal(undefined);
    const deaf = to({ timeoutMs: 20, fetch: () => new Promise(() => undefined) });
    expect(await deaf.get('/keys')).to.equal(undefined);
  });

  it('keeps a Retry-After of seconds or a date, caps it at a minute, and drops any other text', async () => {
    for (const [header, expected] of [
      ['7', '7'],
      ['Sat, 21 Nov 2026 07:28:00 GMT', 'Sat, 21 Nov 2026 07:28:00 GMT'],
      ['60', '60'],
      // A maintenance page of a proxy.
      ['86400', '60'],
      ['999999999', '60'],
      ['Sun, 22 Nov 2026 07:28:00 GMT', '60'],
      ['-1', undefined],
      ['1e9', undefined],
      ['1234567890', undefined],
      ['soon', undefined],
      ['7, 8', undefined],
    ] as const) {
      server.answer = raw('{}', { 'retry-after': header }, 503);
      expect((await plane.get('/keys'))?.retryAfter, header).to.equal(expected);
    }
  });
});
