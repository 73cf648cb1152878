/** The mode decide over HTTP. `../core/refusals.test.ts` has the reasons that depend on the token. */

import { expect } from 'chai';
import { type Guard, startGuard } from '../../../../../adapters/sdk/tool-server/guard/guard.ts';
import { sendBytes } from '../../../../support/hostile/send-bytes.ts';
import { rawConnection } from '../../../../support/raw-http.ts';
import { AUDIENCE, planeForEachTest, TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import { decideConfiguration, matchOf } from '../../../../support/tool-server/decided-app.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';
import { startServer } from '../../../../support/tool-server/served-guard.ts';

type Headers = readonly (readonly [string, string])[];

describe('The guard in its mode decide', () => {
  const fixture = planeForEachTest();
  const { events } = fixture;
  let guard: Guard;
  let origin: string;
  beforeEach(async () => {
    guard = await startGuard(decideConfiguration(fixture.plane.issuer), {
      onAccess: (event) => void events.push(event),
      onError: (error) => {
        throw error;
      },
      startServer,
    });
    origin = `http://127.0.0.1:${guard.address.port}`;
  });
  afterEach(() => guard.stop());

  const caddy = (method: string, uri: string): Headers => [
    ['X-Forwarded-Method', method],
    ['X-Forwarded-Uri', uri],
  ];
  const nginx = (method: string, uri: string): Headers => [
    ['X-Original-Method', method],
    ['X-Original-URI', uri],
  ];
  const bearer = (claims = {}): Headers => [['Authorization', `Bearer ${fixture.plane.token(claims)}`]];
  const ask = (headers: Headers, target = '/decide', method = 'GET') =>
    rawRequest(`${origin}${target}`, method, headers);

  const issue = (): Headers => [...nginx('GET', '/issues/7?q=1'), ...bearer()];
  const NAMES = ['mandate-subject', 'mandate-agent', 'mandate-task', 'mandate-scope'];

  it('allows with 204 and who acts for whom, encoded, and writes the event', async () => {
    const claims = { sub: 'Zoë 100%', scope: 'jira:read jira:write' };
    const answer = await ask([...nginx('GET', '/issues/7?q=1'), ...bearer(claims)]);
    expect([answer.status, answer.body]).to.deep.equal([204, '']);
    expect(answer.headers).to.deep.include({
      'mandate-subject': 'Zo%C3%AB 100%25',
      'mandate-agent': 'agent:triage',
      'mandate-task': TASK_ID,
      'mandate-scope': 'jira:read jira:write',
      'cache-control': 'no-store',
    });
    expect(events.map(({ route, decision, sub }) => [route, decision, sub])).to.deep.equal([
      ['GET /issues/*', 'allow', 'Zoë 100%'],
    ]);
  });

  it('sends all four headers also for what is not there, and for an open route, which has no event', async () => {
    const person = await ask([
      ...caddy('GET', '/boards/1'),
      ...bearer({ act: undefined, task: undefined, scope: 'jira:read' }),
    ]);
    expect(person.status).to.equal(204);
    expect(NAMES.map((name) => person.headers[name])).to.deep.equal(['ada', '', '', 'jira:read']);
    events.length = 0;
    for (const headers of [caddy('GET', '/healthz'), [...nginx('GET', '/healthz?a'), ...bearer()]]) {
      const open = await ask(headers);
      expect(open.status).to.equal(204);
      expect(NAMES.map((name) => open.headers[name])).to.deep.equal(['', '', '', '']);
    }
    expect(events).to.deep.equal([]);
  });

  it('answers any method, whatever the query, and reads two pairs that agree', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      expect((await ask(issue(), '/decide?/issues/8', method)).status, method).to.equal(204);
    }
    expect((await ask([...caddy('GET', '/issues/7?q=1'), ...issue()])).status).to.equal(204);
  });

  const malformed: readonly (readonly [what: string, headers: Headers, target?: string])[] = [
    ['no original request', []],
    ['a method alone', [['X-Original-Method', 'GET']]],
    ['a target alone', [['X-Forwarded-Uri', '/issues/7']]],
    [
      'a method of one pair and a target of the other',
      [
        ['X-Original-Method', 'GET'],
        ['X-Forwarded-Uri', '/issues/7'],
      ],
    ],
    ['two methods', [...nginx('GET', '/issues/7'), ['x-original-method', 'GET']]],
    ['two targets', [...nginx('GET', '/issues/7'), ['X-ORIGINAL-URI', '/issues/7']]],
    ['pairs that contradict each other', [...nginx('GET', '/issues/7'), ...caddy('GET', '/issues/8')]],
    ['half a pair beside a whole one', [...nginx('GET', '/issues/7'), ['X-Forwarded-Method', 'GET']]],
    ['a dot segment', nginx('GET', '/issues/../admin')],
    ['a dot segment with parameters', nginx('GET', '/issues/..;a=b/admin')],
    ['an encoded dot segment', nginx('GET', '/issues/%2e%2e/admin')],
    ['an encoded slash', nginx('GET', '/issues/a%2fb')],
    ['an encoded backslash', nginx('GET', '/issues/a%5Cb')],
    ['an encoded unreserved character', nginx('GET', '/%69ssues/7')],
    ['an empty segment', nginx('GET', '//issues/7')],
    ['the absolute form', nginx('GET', 'http://jira.example/issues/7')],
    [
      'a header from which some frameworks take another method',
      [...nginx('GET', '/a'), ['X_HTTP-Method-Override', 'DELETE']],
    ],
    ['the target in another spelling', [...nginx('GET', '/issues/7'), ['X_Original_URI', '/admin']]],
    ['the method in another spelling', [...caddy('GET', '/issues/7'), ['X.Forwarded.Method', 'DELETE']]],
    ['a name of the original URL in another spelling', [...caddy('GET', '/issues/7'), ['X~Original-URL', '/admin']]],
    ['the person in another spelling', [...nginx('GET', '/issues/7'), ['Mandate_Subject', 'eve']]],
    ['the agent in another spelling', [...nginx('GET', '/issues/7'), ['mandate!agent', 'agent:eve']]],
    ['a header from which some servers take another path', [...nginx('GET', '/issues/7'), ['Script-Name', '/issues']]],
    ['more than 100 headers', [...nginx('GET', '/issues/7'), ...Array.from({ length: 100 }, () => ['a', ''] as const)]],
    ['two hosts', [...nginx('GET', '/issues/7'), ['Host', 'a']]],
    ['a host that joins two', [...nginx('GET', '/issues/7'), ['Host', 'a.example,b.example']]],
    ['another address than /decide', nginx('GET', '/issues/7'), '/issues/7'],
    ['an address below /decide', nginx('GET', '/issues/7'), '/decide/'],
  ];
  for (const [what, headers, target] of malformed) {
    it(`refuses with 403 malformed_request: ${what}`, async () => {
      const answer = await ask([...headers, ...bearer()], target);
      const { error_description: sentence, ...body } = JSON.parse(answer.body);
      expect([answer.status, body]).to.deep.equal([403, { error: 'invalid_request', reason: 'malformed_request' }]);
      expect(answer.headers['www-authenticate']).to.equal(
        `Bearer realm="${AUDIENCE}", error="invalid_request", error_description="${sentence}"`,
      );
      expect(events.map(({ route, decision, reason, sub }) => [route, decision, reason, sub])).to.deep.equal([
        [null, 'deny', 'malformed_request', null],
      ]);
    });
  }

  it('matches the method exactly, and refuses what no pattern names, after it has verified the token', async () => {
    const reasons: unknown[] = [];
    for (const original of [nginx('HEAD', '/issues/7'), nginx('get', '/issues/7'), nginx('GET', '/Issues/7')]) {
      for (const token of [bearer(), []]) {
        const { status, body } = await ask([...original, ...token]);
        reasons.push([status, JSON.parse(body).reason]);
      }
    }
    const each = [
      [403, 'unknown_route'],
      [401, 'missing_token'],
    ];
    expect(reasons).to.deep.equal([...each, ...each, ...each]);
    expect(events.every(({ route }) => route === null)).to.equal(true);
  });

  it('decides by the first route that matches, and by routes before what is open', async () => {
    const route = (pattern: string, scope: string) => ({ match: matchOf(pattern), scope: [scope] });
    const routes = [route('GET /a/b', 'jira:admin'), route('GET /a/*', 'jira:read'), route('GET /a/c', 'jira:admin')];
    guard.reload(decideConfiguration(fixture.plane.issuer, { routes, open: [matchOf('GET /a/*'), matchOf('GET /*')] }));
    const statuses = ['/a/b', '/a/c', '/a/b/c', '/a/', '/b'].map(async (uri) => {
      const answers = [await ask([...nginx('GET', uri), ...bearer()]), await ask(nginx('GET', uri))];
      return [uri, ...answers.map(({ status }) => status)];
    });
    expect(await Promise.all(statuses)).to.deep.equal([
      ['/a/b', 403, 401],
      ['/a/c', 204, 401],
      ['/a/b/c', 204, 401],
      // The wildcard of /a/* stands for at least one character.
      ['/a/', 204, 204],
      ['/b', 204, 204],
    ]);
  });

  it('answers a client that waits before its body without reading it, and closes the connection', async () => {
    const connection = await rawConnection(origin);
    const lines = issue().map(([name, value]) => `${name}: ${value}\r\n`);
    connection.send(
      `POST /decide HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n${lines.join('')}\r\n`,
    );
    const answer = await connection.until('never sent');
    expect(answer)
      .to.match(/^HTTP\/1\.1 204 No Content\r\n/)
      .and.to.match(/\r\nConnection: close\r\n/i);
    expect(answer).not.to.include('100 Continue');
  });

  it('accepts a head of less than 32 KiB, which a long token needs, and no longer one', async () => {
    const padded = (length: number): Headers => [...issue(), ['X-Other', 'a'.repeat(length)]];
    expect((await ask(padded(30 * 1024))).status).to.equal(204);
    expect((await ask(padded(32 * 1024))).status).to.equal(431);
    expect(events.map(({ reason }) => reason)).to.deep.equal([null]);
  });

  it('answers no question behind one with a body, which the gateway may have kept back', async () => {
    const question = (headers: readonly (readonly [string, string])[], more = '') =>
      `GET /decide HTTP/1.1\r\nHost: a\r\n${headers.map((header) => `${header.join(': ')}\r\n`).join('')}${more}\r\n`;
    const begun = 'GET /decide HTTP/1.1\r\nHost: a\r\nX-Any: ';
    const next = begun + question(issue());
    const bytes = question(nginx('GET', '/a'), `Content-Length: ${begun.length}\r\n`) + next;
    const { answers, end } = await sendBytes(origin, bytes);
    expect([answers.map(({ status }) => status), end]).to.deep.equal([[401], 'closed']);
    expect(events.map(({ reason }) => reason)).to.deep.equal(['missing_token']);
  });

  for (const [what, head, answered] of [
    ['two lengths of its body', 'GET /decide HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2', /^HTTP\/1\.1 400 /],
    ['an unknown expectation', 'GET /decide HTTP/1.1\r\nExpect: 200-ok', /^HTTP\/1\.1 417 /],
    ['the method CONNECT', 'CONNECT jira.example:443 HTTP/1.1', /^HTTP\/1\.1 400 /],
  ] as const) {
    it(`writes no event for what the HTTP server refuses by itself: ${what}`, async () => {
      const connection = await rawConnection(origin);
      connection.send(`${head}\r\nHost: a\r\n\r\n`);
      expect(await connection.until('never sent')).to.match(answered);
      expect(events).to.deep.equal([]);
    });
  }
});
