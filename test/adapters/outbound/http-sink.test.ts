import { expect } from 'chai';
import { httpSink } from '../../../adapters/outbound/http-sink.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network, NetworkRequest } from '../../../application/ports/network.ts';
import { makeTaskId, makeTokenId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import type { LedgerRecord } from '../../../domain/ledger/record.ts';
import { Secret } from '../../../domain/secret.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { answering, type Handler, loopbackForSuite, startLoopback, testTrust } from '../../support/loopback.ts';

const TOKEN = 'a-token-of-the-sink-0123456789';
const issued: LedgerRecord = {
  seq: 41,
  checkpoint: 3,
  at: NOON,
  event: 'token.issued',
  taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'),
  agentId: 'jira-triage',
  sponsor: 'ada@example.com',
  audience: 'https://jira.example',
  scope: 'jira:read jira:comment',
  jti: makeTokenId('01M31S7W68TMK7WDX8YKPSYTEB'),
  delegationDepth: 1,
  decision: 'allow',
};
const summary: LedgerRecord = {
  seq: 43,
  checkpoint: undefined,
  at: instantFromMicros(NOON + 1_000_000),
  event: 'admin.denied',
  decision: 'deny',
  reason: 'invalid_api_key',
  count: 12,
};

/** The time limit for an answer that never ends: below ten seconds, and far more than a request takes. */
const HASTY_MS = 2000;

describe('The HTTP sink', () => {
  const server = loopbackForSuite(answering('{}'));
  let log: CapturedLog;
  let asked: NetworkRequest[];
  let patienceMs: number;
  beforeEach(() => {
    server.answer = answering('{}');
    log = capturedLog();
    asked = [];
    patienceMs = 10_000;
  });
  const sink = (url = `${server.url}/records?source=mandate`) => {
    const real = httpNetwork();
    const network: Network = {
      send(request) {
        asked.push(request);
        return real.send({ ...request, timeoutMs: patienceMs });
      },
    };
    return httpSink({ url, bearerToken: undefined }, network, log);
  };

  it('posts the records in order and in the published format', async () => {
    expect(await sink().deliver([issued, summary])).to.equal(true);
    const [request] = server.received;
    expect(request).to.include({ method: 'POST', path: '/records?source=mandate' });
    expect(request?.headers['content-type']).to.equal('application/json');
    expect(request?.headers.authorization).to.equal(undefined);
    expect(JSON.parse(request?.body ?? '')).to.deep.equal({
      records: [
        {
          seq: 41,
          checkpoint: 3,
          ts: '2026-09-17T14:03:41.882Z',
          event: 'token.issued',
          task_id: 'task_01M31S7W68TMK7WDX8YKPSYTES',
          agent_id: 'jira-triage',
          sponsor: 'ada@example.com',
          audience: 'https://jira.example',
          scope: 'jira:read jira:comment',
          jti: 'tok_01M31S7W68TMK7WDX8YKPSYTEB',
          delegation_depth: 1,
          decision: 'allow',
          reason: null,
        },
        {
          seq: 43,
          checkpoint: null,
          ts: '2026-09-17T14:03:42.882Z',
          event: 'admin.denied',
          task_id: null,
          agent_id: null,
          sponsor: null,
          audience: null,
          scope: null,
          jti: null,
          delegation_depth: null,
          decision: 'deny',
          reason: 'invalid_api_key',
          count: 12,
        },
      ],
    });
  });

  it('has a time limit of ten seconds', async () => {
    await sink().deliver([issued]);
    expect(asked.map(({ timeoutMs }) => timeoutMs)).to.deep.equal([10_000]);
  });

  const long = 'x'.repeat(100_000);
  const answers: readonly (readonly [what: string, taken: boolean, Handler, isHasty?: boolean])[] = [
    ['200 with a body', true, answering({ accepted: 1 })],
    ['201', true, answering('', 201)],
    ['204 without a body', true, (_, response) => response.writeHead(204).end()],
    ['299', true, answering('', 299)],
    ['200 with a body over its limit', true, answering(long)],
    [
      '200 with a compressed body',
      true,
      (_, response) => response.writeHead(200, { 'content-encoding': 'br' }).end('x'),
    ],
    ['200 with a body that is not UTF-8', true, (_, response) => response.writeHead(200).end(Buffer.from([0xff]))],
    ['a redirect with 301', false, (_, response) => response.writeHead(301, { location: '/' }).end()],
    ['a redirect with 307', false, (_, response) => response.writeHead(307, { location: '/' }).end()],
    ['400', false, answering('', 400)],
    ['401', false, answering('', 401)],
    ['500', false, answering('', 500)],
    ['503 with a body over its limit', false, answering(long, 503)],
    ['a cut connection', false, (_, response) => response.destroy()],
    ['no answer in time', false, () => {}, true],
    ['an answer that does not end in time', false, (_, response) => response.writeHead(200).write('{'), true],
  ];
  for (const [what, taken, handler, isHasty = false] of answers) {
    it(`${taken ? 'accepts' : 'treats as a failure'}: ${what}`, async () => {
      if (isHasty) patienceMs = HASTY_MS;
      server.answer = handler;
      expect(await sink().deliver([issued])).to.equal(taken);
      expect(server.received).to.have.lengthOf(1);
    });
  }

  it('treats a refused connection as a failure', async () => {
    const gone = await startLoopback(answering(''));
    await gone.close();
    expect(await sink(gone.url).deliver([issued])).to.equal(false);
  });

  it('treats a record that cannot be serialized as a failure, and logs the error', async () => {
    const broken = { ...issued, at: instantFromMicros(Number.NaN) };
    expect(await sink().deliver([broken])).to.equal(false);
    expect(log.lines.join()).to.include('"level":"error"').and.to.include('RangeError');
  });

  it('logs the first of consecutive failures and the next success, without the records', async () => {
    const one = sink();
    await one.deliver([issued]);
    expect(log.lines).to.deep.equal([]);
    server.answer = answering('', 503);
    for (let time = 0; time < 3; time += 1) await one.deliver([issued]);
    server.answer = () => {};
    patienceMs = HASTY_MS;
    await one.deliver([issued]);
    patienceMs = 10_000;
    server.answer = answering('{}');
    await one.deliver([issued]);
    await one.deliver([issued]);
    server.answer = answering('', 500);
    await one.deliver([issued]);
    expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      { level: 'warn', message: 'the sink does not accept records: they stay queued', status: 503 },
      { level: 'info', message: 'the sink accepts records again' },
      { level: 'warn', message: 'the sink does not accept records: they stay queued', status: 500 },
    ]);
  });

  it('refuses a token without https', () => {
    const withToken = (url: string) => () =>
      httpSink({ url, bearerToken: new Secret(TOKEN) }, httpNetwork(), capturedLog());
    expect(withToken(`${server.url}/records`))
      .to.throw(TypeError)
      .that.has.property('message')
      .not.include(TOKEN);
    expect(withToken('HTTPS://sink.example/')).not.to.throw();
  });
});

describe('The HTTPS sink', () => {
  const server = loopbackForSuite(answering('', 401), { tls: true });

  const sinkTo = (network: Network, log: CapturedLog) =>
    httpSink({ url: `${server.url}/records`, bearerToken: new Secret(TOKEN) }, network, log);

  it('sends its token, and does not log it', async () => {
    const log = capturedLog();
    const sink = sinkTo(httpNetwork({ secureContext: testTrust }), log);
    expect(await sink.deliver([issued])).to.equal(false);
    server.answer = answering('{}');
    expect(await sink.deliver([issued])).to.equal(true);
    expect(server.received.map(({ headers }) => headers.authorization)).to.deep.equal([
      `Bearer ${TOKEN}`,
      `Bearer ${TOKEN}`,
    ]);
    expect(log.lines).to.have.lengthOf(2);
    expect(log.lines.join()).not.to.include(TOKEN);
  });

  it('sends nothing to a server with an untrusted certificate', async () => {
    server.received.length = 0;
    expect(await sinkTo(httpNetwork(), capturedLog()).deliver([issued])).to.equal(false);
    expect(server.received).to.deep.equal([]);
  });
});
