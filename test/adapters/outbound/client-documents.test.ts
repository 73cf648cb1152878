import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { clientDocuments } from '../../../adapters/outbound/client-documents.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { ClientDocuments, ReadClientDocument } from '../../../application/ports/client-documents.ts';
import { NetworkFailure } from '../../../application/ports/network.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { heldAnswer, loopbackForSuite, testTrust } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { P256_KEY } from '../../support/registrations.ts';

const OPTIONS = { issuer: 'https://mandate.test', publicOnly: false };
const UNAVAILABLE: ReadClientDocument = { kind: 'unavailable' };

describe('The documents of clients', () => {
  const server = loopbackForSuite(() => undefined, { tls: true });
  let clock: MovedClock;
  let log: CapturedLog;
  let documents: ClientDocuments;
  let uri: string;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    log = capturedLog();
    documents = clientDocuments(httpNetwork({ secureContext: testTrust }), clock, log, OPTIONS);
    uri = `${server.url}/client.json`;
  });

  const aDocument = (changes: object = {}) => ({
    client_id: uri,
    redirect_uris: ['https://app.example/callback'],
    token_endpoint_auth_method: 'none',
    ...changes,
  });
  const publish = (body: unknown, headers: Readonly<Record<string, string>> = {}, status = 200): void => {
    server.answer = (_, response: ServerResponse) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    };
  };
  const read = () => documents.read(uri, aTrace);
  const redirectsOf = (answer: ReadClientDocument) =>
    answer.kind === 'read' ? answer.document.redirectUris : answer.kind;
  const logged = () => log.lines.map((line) => JSON.parse(line));
  const kept = { 'cache-control': 'max-age=60' };

  it('are fetched over https with no more than the URL, in the trace of the caller', async () => {
    publish(aDocument());
    expect(await read()).to.deep.include({
      kind: 'read',
      document: { redirectUris: ['https://app.example/callback'], keys: { kind: 'none' } },
    });
    const [request] = server.received;
    expect(request).to.include({ method: 'GET', path: '/client.json', body: '' });
    expect(request?.headers).to.include({
      accept: 'application/json',
      traceparent: `00-${aTrace.traceId}-${aTrace.spanId}-01`,
    });
    expect(request?.headers).to.not.have.any.keys('cookie', 'authorization');
    expect(log.lines).to.deep.equal([]);
  });

  it('are kept while their headers allow, for an hour at most, and a change is seen after that', async () => {
    for (const [headers, seconds] of [
      [kept, 60],
      [{ 'cache-control': 'max-age=86400' }, 3600],
      [{}, 0],
      [{ 'cache-control': 'no-store' }, 0],
    ] as const) {
      publish(aDocument(), headers);
      await read();
      publish(aDocument({ redirect_uris: ['cursor://changed/callback'] }), headers);
      clock.advance(Math.max(0, seconds - 1));
      const before = seconds === 0 ? 'cursor://changed/callback' : 'https://app.example/callback';
      expect(redirectsOf(await read()), JSON.stringify(headers)).to.deep.equal([before]);
      clock.advance(1);
      expect(redirectsOf(await read())).to.deep.equal(['cursor://changed/callback']);
      clock.advance(3600);
    }
  });

  it('count as old when the clock is set back', async () => {
    publish(aDocument(), kept);
    await read();
    clock.jump(-1);
    await read();
    expect(server.received).to.have.length(2);
  });

  it('are asked for once by concurrent callers', async () => {
    publish(aDocument());
    const held = heldAnswer(server.answer);
    server.answer = held.handler;
    const answers = [read(), read(), read()];
    await held.asked;
    held.release();
    expect((await Promise.all(answers)).map(({ kind }) => kind)).to.deep.equal(['read', 'read', 'read']);
    expect(server.received).to.have.length(1);
  });

  it('count as kept while their host is away, and are unavailable after that; each is logged once', async () => {
    publish(aDocument(), kept);
    await read();
    for (const status of [500, 503, 429, 403, 204]) {
      publish('', {}, status);
      expect((await read()).kind).to.equal('read');
    }
    clock.advance(60);
    expect([await read(), await read()]).to.deep.equal([UNAVAILABLE, UNAVAILABLE]);
    publish(aDocument());
    expect((await read()).kind).to.equal('read');
    expect(logged()).to.have.length(2);
    const about = { trace_id: aTrace.traceId, document: uri };
    expect(logged()[0]).to.include({ ...about, level: 'warn', problem: "The answer's status was 204." });
    expect(logged()[1]).to.include({ ...about, level: 'info' });
  });

  it('are the same object while their content is the same', async () => {
    const document = async () => {
      const answer = await read();
      return answer.kind === 'read' && answer.document;
    };
    publish(aDocument());
    const first = await document();
    expect(await document()).to.equal(first);
    publish(aDocument({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [P256_KEY] } }));
    expect(await document()).to.not.equal(first);
  });

  const unusable: readonly (readonly [string, () => void, RegExp])[] = [
    [
      'a redirect',
      () => publish('', { location: `${server.url}/other.json` }, 302),
      /redirect \(302\).*Register the URL/,
    ],
    ['a permanent redirect', () => publish('', { location: `${server.url}/other.json` }, 308), /redirect \(308\)/],
    ['none', () => publish('', {}, 404), /status 404/],
    ['one of 16 KiB and a byte', () => publish(JSON.stringify(aDocument()).padEnd(16_385)), /longer than 16384 bytes/],
    ['text', () => publish(aDocument(), { 'content-type': 'text/html' }), /Content-Type/],
    ['no type', () => publish(aDocument(), { 'content-type': '' }), /Content-Type/],
    ['a type that only begins so', () => publish(aDocument(), { 'content-type': 'application/jsonp' }), /Content-Type/],
    ['bytes that are not UTF-8', () => publish(Buffer.from([0x7b, 0xff])), /not UTF-8/],
    ['compression', () => publish(aDocument(), { 'content-encoding': 'gzip' }), /compressed/],
    ['no JSON', () => publish('{'), /JSON object/],
    ['a member twice', () => publish(JSON.stringify(aDocument()).replace('{', '{"client_id":"x",')), /twice/],
    ['another client_id', () => publish(aDocument({ client_id: `${uri}x` })), /client_id must be the URL/],
  ];
  for (const [what, answer, problem] of unusable) {
    it(`are unusable with ${what}, also while the last one would be fresh no longer, and are asked for again`, async () => {
      publish(aDocument(), kept);
      await read();
      clock.advance(60);
      answer();
      const found = await read();
      expect(found.kind === 'unusable' && found.problem).to.match(problem);
      expect(logged()).to.have.length(1);
      expect(logged()[0]).to.include({ level: 'warn', problem: found.kind === 'unusable' && found.problem });
      // No redirect is followed.
      expect(server.received).to.have.length(2);
      publish(aDocument());
      expect((await read()).kind).to.equal('read');
    });
  }

  it('may be of exactly 16 KiB, and of a more specific type of JSON', async () => {
    publish(JSON.stringify(aDocument()).padEnd(16_384), { 'content-type': 'Application/Client+JSON; charset=utf-8' });
    expect((await read()).kind).to.equal('read');
  });

  it('are not waited for within thirty seconds after their host did not answer in time, and then known again', async () => {
    let answers = false;
    const network = httpNetwork({ secureContext: testTrust });
    documents = clientDocuments(
      {
        send: (request) =>
          answers
            ? network.send(request)
            : Promise.reject(new NetworkFailure('There was no complete answer within 5000 ms.', { timedOut: true })),
      },
      clock,
      log,
      OPTIONS,
    );
    publish(aDocument(), kept);
    expect(await read()).to.deep.equal(UNAVAILABLE);
    answers = true;
    const held = heldAnswer(server.answer);
    server.answer = held.handler;
    // The request in the background waits; this caller does not.
    expect(await read()).to.deep.equal(UNAVAILABLE);
    await held.asked;
    clock.advance(30);
    const waiting = read();
    held.release();
    expect((await waiting).kind).to.equal('read');
    expect(server.received).to.have.length(1);
  });

  it('are waited for without the permit of the request, and only when there is something to wait for', async () => {
    const events: string[] = [];
    const permit = {
      pause() {
        events.push('paused');
        return () => void events.push('resumed');
      },
    };
    publish(aDocument(), kept);
    const held = heldAnswer(server.answer);
    server.answer = held.handler;
    const waiting = documents.read(uri, aTrace, permit);
    await held.asked;
    expect(events).to.deep.equal(['paused']);
    held.release();
    await waiting;
    expect(events).to.deep.equal(['paused', 'resumed']);
    await documents.read(uri, aTrace, permit);
    expect(events).to.have.length(2);
  });

  it('are fetched from public addresses only where agents may name no others, whatever DNS says now', async () => {
    const isPublic = new Set(['127.0.0.1']);
    const network = httpNetwork({ secureContext: testTrust, isPublic: (address) => isPublic.has(address) });
    documents = clientDocuments(network, clock, log, { ...OPTIONS, publicOnly: true });
    publish(aDocument());
    expect((await read()).kind).to.equal('read');
    isPublic.clear();
    expect(await read()).to.deep.equal(UNAVAILABLE);
    expect(server.received).to.have.length(1);
    expect(logged()).to.deep.include({ ...logged()[0], problem: 'The host has an address that is not public.' });
  });

  it('are unavailable after an unforeseen error, which the log reports', async () => {
    documents = clientDocuments({ send: () => Promise.reject(new RangeError('a bug')) }, clock, log, OPTIONS);
    expect(await read()).to.deep.equal(UNAVAILABLE);
    expect(logged()[0]).to.include({ level: 'error', cause: 'RangeError', trace_id: aTrace.traceId });
  });
});
