/**
 * Targets, hosts and methods that a proxy, the router and the service could read in different ways. Each request
 * carries the admin key and a valid registration, so that one that reached its handler would leave a record.
 */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import {
  ADMIN_HEADERS,
  effectsOf,
  expectNoEffect,
  expectRefused,
  registration,
  wholeRegistration,
} from '../../support/hostile/no-effect.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { ADMIN_KEY, fieldsOf, type Mandate, startMandate } from '../../support/mandate.ts';
import { EVERY_RECEIVER } from '../../support/transmitter.ts';

const SETTINGS = { ...EVERY_RECEIVER, 'Service:Audit:Aggregation:Enabled': 'false' };

const AUTHORIZED = ADMIN_HEADERS.replace(/^Host: [^\r]+\r\n/, '');

function post(target: string, more = 'Host: mandate.test\r\n'): string {
  const body = registration();
  return `POST ${target} HTTP/1.1\r\n${more}${AUTHORIZED}Content-Length: ${body.length}\r\n\r\n${body}`;
}

describe('A request', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: SETTINGS });
  });
  after(() => mandate.stop());

  const notPaths: readonly (readonly [what: string, targets: readonly string[]])[] = [
    [
      'a scheme and a host',
      [
        ...['http://other/admin/agents', 'https://mandate.test/admin/agents', 'HTTP://mandate.test/admin/agents'],
        ...['http://mandate.test:80/admin/agents', 'http://user@mandate.test/admin/agents', 'http:///admin/agents'],
        ...['http://mandate.test/healthz?/../admin/agents', 'file:///admin/agents', 'a://b/admin/agents'],
      ],
    ],
    ['no path', ['mandate.test:443', '*', '*/admin/agents', 'admin/agents', '?/admin/agents', '.', '../admin/agents']],
    ['a fragment', ['/admin/agents#', '/admin/agents#x', '/healthz#/../admin/agents', '/#', '/admin/agents?#']],
    [
      'a backslash',
      ['/admin\\agents', '\\admin\\agents', '/\\admin/agents', '/admin/agents\\', '/x\\..\\admin\\agents#'],
    ],
    [
      'dot segments in any encoding',
      [
        ...['/./admin/agents', '/../admin/agents', '/healthz/../admin/agents', '/admin/./agents', '/admin/agents/.'],
        ...['/%2e/admin/agents', '/%2e%2e/admin/agents', '/%2E%2e/admin/agents', '/x/.%2e/admin/agents', '/x/%2E./'],
        ...['/admin/agents/..', '/admin/agents/%2e%2e', '/admin/sponsors/%2e%2e/block', '/admin/agents/..?limit=1'],
      ],
    ],
    ['non-ASCII bytes or a NUL', ['/\xc0\xae\xc0\xae/admin/agents', '/admin/agents\xff', '/admin/ag\0ents']],
    [
      'white space or a control character',
      ['/admin/agents x', '/admin/agents\t', '/admin\x0bagents', '/admin/agents\x0c', '/admin/agents\x7f'],
    ],
  ];
  for (const [what, targets] of notPaths) {
    it(`whose target has ${what} is refused`, () =>
      expectNoEffect(mandate, async () => {
        for (const target of targets) expectRefused(await sendBytes(mandate.url, post(target) + wholeRegistration()));
      }));
  }

  it('gets a 4xx for every other spelling of a path', async () => {
    const others = [
      ...[
        '//admin/agents',
        '/admin//agents',
        '///admin/agents',
        '/admin/agents/',
        '/admin/agents//',
        '/;/admin/agents',
      ],
      ...['/Admin/agents', '/ADMIN/AGENTS', '/admin/Agents', '/%61dmin/agents', '/admin/%61gents', '/admin%2fagents'],
      ...['/admin%2Fagents', '/admin/agents%00', '/admin/agents%20', '/admin/agents;x=y', '/admin/agents.json'],
      ...['/admin%5cagents', '/admin/agents/..%2f', '/admin/..%2fadmin%2fagents', '/%c0%ae%c0%ae/admin/agents', '/...'],
      ...['/admin/%2e%2e%2fadmin/agents', '/x%2f..%2fadmin/agents', '/%252e%252e/admin/agents', '/admin/agents/%ff'],
    ];
    const { records } = await effectsOf(mandate, async () => {
      for (const target of others) {
        const { answers } = await sendBytes(mandate.url, post(target, 'Host: x\r\nConnection: close\r\n'));
        // This is the path of an agent that does not exist, which has no POST.
        expect(answers[0]?.status, target).to.be.oneOf([400, 404, 405]);
        expect(answers[0]?.headers.get('content-type'), target).to.match(/^application\/problem\+json/);
      }
    });
    expect(records).to.deep.equal([]);
  });

  it('is admitted and routed by one and the same path', async () => {
    // If admission read another path than the router, a request could get the limits of another surface.
    const { served } = await effectsOf(mandate, async () => {
      for (const path of ['/oauth2/token', '/oauth2/introspect', '/healthz', '/scim/v2/Users', '/audit']) {
        for (const target of [`http://x${path}`, `${path}#`, path.replaceAll('/', '\\').replace('\\', '/')]) {
          if (target === path) continue;
          expectRefused(await sendBytes(mandate.url, post(target)));
        }
      }
    });
    expect(served).to.deep.equal([]);
  });

  it('with a target or a head that is too long is refused', () =>
    expectNoEffect(mandate, async () => {
      expectRefused(await sendBytes(mandate.url, post(`/admin/agents?${'x'.repeat(8 * 1024)}`)), 414);
      expectRefused(await sendBytes(mandate.url, post(`/admin/agents?${'x'.repeat(17 * 1024)}`)), 431);
      expectRefused(
        await sendBytes(mandate.url, post('/admin/agents', `Host: x\r\nX: ${'x'.repeat(17 * 1024)}\r\n`)),
        431,
      );
      expectRefused(await sendBytes(mandate.url, post('/admin/agents', `Host: x\r\n${'a: b\r\n'.repeat(98)}`)), 431);
      expectRefused(await sendBytes(mandate.url, post('/admin/agents', `Host: x\r\n${'a:\r\n'.repeat(3500)}`)), 431);
      // Node ignores headers after its maximum. A second Host there must still be noticed.
      const late = `${'a:\r\n'.repeat(2500)}Host: x\r\nHost: x\r\n`;
      expectRefused(await sendBytes(mandate.url, post('/admin/agents', late)), 431);
    }));

  it('may have a long target, and as many headers as proxies add', async () => {
    const long = `/audit?sponsor=${'%F0%9D%92%B3'.repeat(128)}&cursor=${'x'.repeat(4000)}`;
    const many = `${'X-Forwarded-For: 192.0.2.1\r\n'.repeat(90)}Connection: close\r\n`;
    const sent = `GET ${long} HTTP/1.1\r\nHost: mandate.test\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n${many}\r\n`;
    const { answers } = await sendBytes(mandate.url, sent);
    expect(answers[0]?.status).to.equal(400);
    expect(answers[0]?.body).to.include('"cursor"');
  });

  it('may have non-ASCII bytes in unused headers, but not in a credential', async () => {
    const ask = (more: string) => `GET /admin/agents HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`;
    const good = await sendBytes(
      mandate.url,
      ask(`X-Name: M\xc3\xbcller \xff\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n`),
    );
    expect(good.answers[0]?.status).to.equal(200);
    const { records } = await effectsOf(mandate, async () => {
      const bad = await sendBytes(mandate.url, ask(`Authorization: Bearer ${ADMIN_KEY}\xff\r\n`));
      expect(bad.answers[0]?.status).to.equal(401);
    });
    expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['admin.denied', 'invalid_api_key']]);
  });

  it('with OPTIONS for * or / is answered with 204 and Allow; HTTP/1.0 needs no Host', async () => {
    const { records } = await effectsOf(mandate, async () => {
      for (const [target, allow] of [
        ['*', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'],
        ['/', 'OPTIONS'],
        ['/?x=1', 'OPTIONS'],
      ]) {
        for (const head of ['HTTP/1.0\r\n', 'HTTP/1.1\r\nHost: x\r\nConnection: close\r\n']) {
          const { answers } = await sendBytes(mandate.url, `OPTIONS ${target} ${head}\r\n`);
          expect(answers.map(({ status, headers }) => [status, headers.get('allow')])).to.deep.equal([[204, allow]]);
        }
      }
      expectRefused(await sendBytes(mandate.url, `OPTIONS ** HTTP/1.1\r\nHost: x\r\n\r\n${wholeRegistration()}`));
      for (const path of ['/healthz?x=1', '/readyz?x']) expect((await mandate.get(path)).status, path).to.equal(200);
    });
    expect(records).to.deep.equal([]);
  });
});
