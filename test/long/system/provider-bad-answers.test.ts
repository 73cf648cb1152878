/**
 * A provider that answers one of its addresses with nonsense. The person and the operator learn what to do, no answer is a
 * 500, no log has a secret or the provider's text, and everything works again once the provider does.
 */

import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { renderFindings } from '../../../adapters/cli/findings-report.ts';
import { type Area, type OddWorld, startOddWorld } from '../../support/identity-provider/odd-world.ts';
import type { Endpoint, Oddities } from '../../support/identity-provider/oddities.ts';
import { answering, type Handler, loopbackForSuite } from '../../support/loopback.ts';
import { fieldsOf } from '../../support/mandate.ts';
import { personBrowser } from '../../support/me/person-browser.ts';

const SECRET = 'zq7-secret-of-the-client';
/** Text of the provider, which neither a log nor a page repeats. */
const NOISE = 'zq7-noise';
const YEAR = String(365 * 24 * 60 * 60);
/** A provider's Retry-After is heeded for at most five minutes (supplement "Subject tokens"). */
const RECOVERY_SECONDS = 301;
/** For the answer that never ends. The others end by themselves, however busy the machine is. */
const REQUEST_LIMIT_MS = 400;
const ENDLESS = 'a byte a second';

const withHeaders =
  (status: number, headers: Readonly<Record<string, string>>, body = NOISE): Handler =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

/** Writes as long as the client reads. */
function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, 'a');
  while (!response.destroyed && response.write(chunk));
  if (!response.destroyed) response.once('drain', () => endless(response));
}

const byteASecond: Handler = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write('{'), 1000);
  response.on('close', () => clearInterval(timer));
};

const ANSWERS: readonly (readonly [title: string, answer: Handler])[] = [
  ...[201, 204, 206, 304, 400, 401, 403, 404, 418, 500, 502, 503, 504].map(
    (status) =>
      [
        `the status ${status}`,
        answering([204, 304].includes(status) ? '' : { error: 'odd', message: NOISE }, status),
      ] as const,
  ),
  ['an HTML page', withHeaders(200, { 'content-type': 'text/html' }, `<h1>${NOISE}</h1>`)],
  ['a JSON text', answering(`"${NOISE}"`)],
  ['nothing', answering('')],
  ['JSON with a member twice', answering(`{"issuer": "${NOISE}", "issuer": "${NOISE}", "keys": [], "keys": []}`)],
  ['bytes that are no UTF-8', (_, response) => void response.writeHead(200).end(Buffer.from([0xff, 0xfe, 0xfd]))],
  ['a compressed body', withHeaders(200, { 'content-encoding': 'gzip' })],
  ['an endless body', (_, response) => endless(response.writeHead(200))],
  [ENDLESS, byteASecond],
  ['a closed connection', (_, response) => void response.destroy()],
  ['a Retry-After of a year', withHeaders(503, { 'retry-after': YEAR })],
  ['a Retry-After of a year with 429', withHeaders(429, { 'retry-after': YEAR })],
  ['a Retry-After of -1', withHeaders(503, { 'retry-after': '-1' })],
  ['an error_description of 64 KiB', answering({ error: 'invalid_grant', error_description: NOISE.repeat(7000) }, 400)],
  ['control characters in its error', answering({ error: '\u202e\u001b[2J\n', error_uri: NOISE }, 400)],
  ['a 404 page', withHeaders(404, { 'content-type': 'text/html' }, `<h1>${NOISE}</h1>`)],
];

describe('A provider that answers', function () {
  this.timeout(60_000);
  const elsewhere = loopbackForSuite(answering({}));

  const cases = (['metadata', 'keys', 'token', 'users'] as const).flatMap((endpoint) => [
    ...ANSWERS.map(([title, answer]) => [endpoint, title, () => ({ answers: { [endpoint]: answer } })] as const),
    [
      endpoint,
      'a redirect',
      () => ({ answers: { [endpoint]: withHeaders(302, { location: `${elsewhere.url}/x` }) } }),
    ] as const,
  ]);
  for (const [endpoint, title, odd] of cases) {
    // A JSON object with 404 says that the person is unknown (supplement "Blocks, poll mode, health").
    if (endpoint === 'users' && title === 'the status 404') continue;
    it(`${endpoint} with ${title}`, () => tryOut(endpoint, odd(), title === ENDLESS ? REQUEST_LIMIT_MS : undefined));
  }

  it('metadata with the addresses of another provider', () => {
    const [jwks_uri, token_endpoint] = [`${elsewhere.url}/keys`, `${elsewhere.url}/token`];
    return tryOut('metadata', { metadata: { jwks_uri, token_endpoint } });
  });
  it('metadata with the issuer of another provider', () => tryOut('metadata', { metadata: { issuer: elsewhere.url } }));

  async function tryOut(endpoint: Endpoint, odd: Oddities, requestLimitMs?: number): Promise<void> {
    // The sponsor check authenticates by an assertion, which the provider refuses from a clock that was moved.
    const isPolling = endpoint === 'token' || endpoint === 'users';
    const world = await startOddWorld(odd, {
      secret: SECRET,
      ...(requestLimitMs !== undefined && { requestLimitMs }),
      ...(!isPolling && { mode: 'signals' }),
    });
    try {
      const works = { page: await signsIn(world), exchange: await exchanges(world) };
      expect(Object.values(works)).to.include(false);
      await expectOperatorKnows(world, works);
      expect(
        elsewhere.received.filter(({ path }) => path === '/x'),
        'a redirect is not followed',
      ).to.deep.equal([]);
      world.provider.misbehave({});
      world.mandate.clock.advance(isPolling ? 6 : RECOVERY_SECONDS);
      // The exchange looks up the keys again, and with them the metadata.
      for (const area of ['exchange', 'page'] as const)
        expect(await world.works(area), `${area} afterwards`).to.equal(true);
      const log = world.mandate.log.lines.join('\n');
      expect(log)
        .not.to.include(SECRET)
        .and.not.to.include(NOISE)
        .and.not.to.match(/eyJ[\w-]+\.|code=|\\u001b|\u202e/);
    } finally {
      await world.stop();
    }
  }
});

/** The person gets a page that says what is wrong and leads on, if not a session. */
async function signsIn({ mandate }: OddWorld): Promise<boolean> {
  const person = personBrowser(mandate);
  const begun = await mandate.get('/me/sign-in');
  const answer = begun.status === 302 ? await person.signIn() : begun;
  if (answer.status === 302) return true;
  expect(answer.status).to.be.oneOf([400, 503]);
  expect(answer.text)
    .to.match(/<h1>[^<]+<\/h1>\s*<p>[^<]+\.<\/p>/)
    .and.to.match(/<a [^>]*href="\/me/);
  expect(answer.text).not.to.include(NOISE);
  return false;
}

/** A refused agent learns whether to come again, and the ledger has its refusal. */
async function exchanges({ mandate }: OddWorld): Promise<boolean> {
  const agent = await mandate.agent();
  let status = 0;
  const records = await mandate.recorded(async () => {
    const answer = await agent.exchange();
    ({ status } = answer);
    if (status !== 200)
      expect(answer.body.error).to.be.oneOf(['invalid_grant', 'temporarily_unavailable', 'access_denied']);
    expect(answer.text).not.to.include(NOISE);
  });
  expect(status).to.be.oneOf([200, 400, 403, 503]);
  expect(fieldsOf(records, 'event', 'decision')).to.deep.equal([
    status === 200 ? ['token.issued', 'allow'] : ['token.denied', 'deny'],
  ]);
  return status === 200;
}

async function expectOperatorKnows(world: OddWorld, works: Readonly<Record<'page' | 'exchange', boolean>>) {
  const warnings = world.mandate.log.lines.filter((line) => /"level":"warn"/.test(line));
  expect(warnings.join('\n')).to.match(/"(problem|missing|reason)":"/);
  for (const area of ['page', 'exchange'] as const satisfies readonly Area[]) {
    const findings = await world.findings(area);
    const report = renderFindings(findings, false);
    expect(report, area).not.to.include(NOISE).and.not.to.include(SECRET).and.not.to.include('Looking failed');
    const doubts = findings.filter(({ status }) => status === 'failed' || status === 'warning');
    if (!works[area]) expect(doubts, report).not.to.deep.equal([]);
    for (const { remedy } of doubts) expect(remedy, report).to.match(/\.$/);
  }
}
