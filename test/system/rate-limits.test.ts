/** Rate limits: how each surface answers 429, and which records it writes. */

import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { ADMIN_KEY, type Mandate, startMandate, withService } from '../support/mandate.ts';
import { EVERY_RECEIVER } from '../support/transmitter.ts';

/** Each bucket allows one request, because the clock stands still. */
const SCARCE = {
  'Service:RateLimit:Enabled': 'true',
  'Service:RateLimit:PermitsPerMinute': '60',
  'Service:RateLimit:Burst': '1',
  'Service:RateLimit:Introspection:PermitsPerMinute': '60',
  'Service:RateLimit:Introspection:Burst': '1',
  'Service:RateLimit:Signals:PermitsPerMinute': '60',
  'Service:RateLimit:Signals:Burst': '1',
  'Service:RateLimit:TrustedProxies': '127.0.0.1/32',
};

const SENTENCE = 'Too many requests come from this address. Retry the request later.';
const OAUTH = { error: 'slow_down', error_description: SENTENCE };
const PROBLEM = { type: 'about:blank', title: 'Too Many Requests', status: 429, error: 'slow_down', detail: SENTENCE };
const SCIM = { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '429', detail: SENTENCE };
const NO_STORE = { 'cache-control': 'no-store' };
const SCIM_HEADERS = { ...NO_STORE, 'content-type': 'application/scim+json' };
const OAUTH_HEADERS = { ...NO_STORE, pragma: 'no-cache', 'content-type': 'application/json; charset=utf-8' };
const PROBLEM_HEADERS = { ...NO_STORE, 'content-type': 'application/problem+json; charset=utf-8' };

/** The path, the event of its records, and the headers and body of its 429. */
const surfaces: readonly (readonly [
  path: string,
  event: string,
  headers: Readonly<Record<string, string>>,
  body: Readonly<Record<string, unknown>>,
])[] = [
  ['/oauth2/token', 'token.denied', OAUTH_HEADERS, OAUTH],
  ['/oauth2/introspect', 'token.denied', OAUTH_HEADERS, OAUTH],
  ['/oauth2/revoke', 'token.denied', OAUTH_HEADERS, OAUTH],
  ['/oauth2/nothing-here', 'token.denied', OAUTH_HEADERS, OAUTH],
  ['/backchannel-logout', 'signal.denied', { ...NO_STORE, 'content-type': 'application/json; charset=utf-8' }, OAUTH],
  ['/scim/v2/Users', 'scim.denied', SCIM_HEADERS, SCIM],
  ['/scim/v2//Users', 'scim.denied', SCIM_HEADERS, SCIM],
  ['/scim/v2/Users/?count=1', 'scim.denied', SCIM_HEADERS, SCIM],
  [
    '/events',
    'ssf.denied',
    { ...NO_STORE, 'content-type': 'application/json; charset=utf-8' },
    { err: 'slow_down', description: SENTENCE },
  ],
  ['/admin/agents', 'admin.denied', PROBLEM_HEADERS, PROBLEM],
  ['/audit?limit=1', 'admin.denied', PROBLEM_HEADERS, PROBLEM],
  ['/me/tasks', 'me.denied', PROBLEM_HEADERS, PROBLEM],
  ['/me/records?limit=1', 'me.denied', PROBLEM_HEADERS, PROBLEM],
  ['/agents/someone/jwks.json', 'token.denied', PROBLEM_HEADERS, PROBLEM],
  ['/.well-known/jwks.json', 'token.denied', PROBLEM_HEADERS, PROBLEM],
  ['/no-such-path', 'token.denied', PROBLEM_HEADERS, PROBLEM],
];

const ME = { 'Service:Me:Audience': 'https://mandate.test/me' };

async function limitedBeside(mandate: Mandate, changes: Readonly<Record<string, string>> = {}): Promise<Mandate> {
  const instance = await mandate.another({ ...SCARCE, ...changes });
  instance.clock.standStill();
  return instance;
}

for (const database of databasesByLength) {
  describe(`Rate limits on ${database.name}`, () => {
    // One surface is enough on the other database, because only the records depend on the database.
    const cases = database === databasesByLength[0] ? surfaces : surfaces.slice(0, 1);
    let mandate: Mandate;
    let instance: Mandate;
    before(async () => {
      // An instance without rate limits reads the ledger.
      mandate = await startMandate({ database, settings: { ...EVERY_RECEIVER, ...ME } });
      instance = await limited();
    });
    after(async () => {
      await instance.stop();
      await mandate.stop();
    });
    const limited = (changes?: Readonly<Record<string, string>>) => limitedBeside(mandate, changes);

    for (const [nth, [path, event, headers, body]] of cases.entries()) {
      it(`answer 429 at ${path} in the surface's format, and record it as ${event}`, async () => {
        // Each address has its own buckets.
        const source = { 'x-forwarded-for': `192.0.2.${nth}` };
        const ask = (method: string) => fetch(`${instance.url}${path}`, { method, headers: source });
        const lines = await mandate.recorded(async () => {
          // The limit covers every method, and requests without a credential.
          expect((await ask('DELETE')).status).not.to.equal(429);
          for (const method of ['POST', 'GET', 'DELETE']) {
            const answer = await ask(method);
            expect(answer.status).to.equal(429);
            expect(Object.fromEntries(answer.headers)).to.include({ ...headers, 'retry-after': '1' });
            expect(await answer.json()).to.deep.equal(body);
          }
          const head = await ask('HEAD');
          expect(head.status).to.equal(429);
          expect(Object.fromEntries(head.headers)).to.include({ ...headers, 'retry-after': '1' });
          expect(await head.text()).to.equal('');
          instance.clock.advance(61);
          await instance.jobs.closeWindows();
        });
        const refusals = lines.filter((line) => line.reason === 'rate_limited');
        expect(refusals.map(({ count }) => count)).to.deep.equal([undefined, 3]);
        for (const line of refusals) {
          expect(line).to.include({ event, decision: 'deny', agent_id: null, sponsor: null, task_id: null, jti: null });
          expect(line).to.include({ audience: null, scope: null });
        }
      });
    }

    it('record each 429 while aggregation is off', async () => {
      await withService(limited({ 'Service:Audit:Aggregation:Enabled': 'false' }), async (instance) => {
        const lines = await mandate.recorded(async () => {
          for (let sent = 0; sent < 4; sent += 1) await instance.get('/no-such-path');
        });
        expect(lines.map(({ reason, count }) => [reason, count])).to.deep.equal(
          Array(3).fill(['rate_limited', undefined]),
        );
      });
    });

    it('record a flood as one denial and one summary', async () => {
      const instance = await limited();
      const lines = await mandate.recorded(async () => {
        const all = Array.from({ length: 200 }, () => instance.admin('GET', '/admin/agents'));
        const refused = (await Promise.all(all)).filter(({ status }) => status === 429);
        expect(refused.length).to.equal(199);
        await instance.stop();
        expect(instance.log.lines.join()).not.to.include(ADMIN_KEY);
      });
      const refusals = lines.filter((line) => line.reason === 'rate_limited');
      expect(refusals).to.have.length(2);
      expect(refusals[1]?.count).to.equal(198);
    });
  });
}

describe('The rate limit', () => {
  let mandate: Mandate;
  before(async () => {
    const [database] = databasesByLength;
    if (database === undefined) throw new Error('there is no database');
    mandate = await startMandate({ database, settings: EVERY_RECEIVER });
  });
  after(() => mandate.stop());
  const limited = (changes?: Readonly<Record<string, string>>) => limitedBeside(mandate, changes);
  const from = (source: string) => ({ 'x-forwarded-for': source });

  it('applies before the credential is checked, and does not mark an assertion as used', async () => {
    await withService(limited(), async (instance) => {
      await instance.get('/no-such-path');
      expect((await instance.admin('GET', '/admin/agents')).status).to.equal(429);
      const agent = await mandate.agent();
      const form = agent.exchangeForm();
      expect((await instance.post('/oauth2/token', form)).body.error).to.equal('slow_down');
      // The service has not read the assertion, so it is still unused.
      expect((await mandate.post('/oauth2/token', form)).status).to.equal(200);
    });
  });

  it('has one bucket for introspection, one for signals, and one for all other paths', async () => {
    await withService(limited(), async (instance) => {
      const paths = ['/oauth2/token', '/oauth2/introspect', '/backchannel-logout', '/scim/v2/Users', '/events'];
      for (const isFirst of [true, false]) {
        for (const path of paths) expect((await instance.get(path)).status !== 429, path).to.equal(isFirst);
      }
      for (const path of ['/oauth2/revoke', '/admin/agents', '/audit', '/elsewhere']) {
        expect((await instance.get(path)).status, path).to.equal(429);
      }
      const health = [await instance.get('/healthz'), await instance.untilReady(), await instance.get('/healthz')];
      expect(health.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    });
  });

  it('counts by the client address that a trusted proxy forwards, and ignores that header from other clients', async () => {
    await withService(limited(), async (instance) => {
      const statusFor = async (header: Readonly<Record<string, string>>) =>
        (await instance.get('/no-such-path', header)).status;
      expect(await statusFor(from('198.51.100.7'))).to.equal(404);
      expect(await statusFor(from('198.51.100.7'))).to.equal(429);
      expect(await statusFor(from('203.0.113.1, 198.51.100.7'))).to.equal(429);
      expect(await statusFor(from('198.51.100.7, 198.51.100.8'))).to.equal(404);
      expect(await statusFor(from('2001:db8:1:2::1'))).to.equal(404);
      expect(await statusFor(from('[2001:db8:1:2:3::9]:4711'))).to.equal(429);
      expect(await statusFor({})).to.equal(404);
      expect(await statusFor(from('nobody'))).to.equal(429);
    });

    await withService(limited({ 'Service:RateLimit:TrustedProxies': '10.0.0.0/8' }), async (distrustful) => {
      expect((await distrustful.get('/no-such-path', from('198.51.100.7'))).status).to.equal(404);
      expect((await distrustful.get('/no-such-path', from('198.51.100.8'))).status).to.equal(429);
    });
  });

  it('reads repeated X-Forwarded-For headers as one list', async () => {
    await withService(limited(), async (instance) => {
      const statusFor = (hops: readonly string[]) =>
        new Promise<number | undefined>((resolve, reject) => {
          const headers = { 'x-forwarded-for': [...hops] };
          const sent = httpRequest(`${instance.url}/no-such-path`, { headers, agent: false }, (answer) => {
            answer.resume().on('end', () => resolve(answer.statusCode));
          });
          sent.on('error', reject).end();
        });
      expect(await statusFor(['203.0.113.1', '198.51.100.7'])).to.equal(404);
      expect(await statusFor(['203.0.113.2', '198.51.100.7'])).to.equal(429);
      expect(await statusFor(['198.51.100.7', '203.0.113.1'])).to.equal(404);
    });
  });

  it('permits more requests as time passes', async () => {
    const settings = { 'Service:RateLimit:PermitsPerMinute': '90', 'Service:RateLimit:Burst': '3' };
    await withService(limited(settings), async (instance) => {
      const statuses = async (count: number) => {
        const answers = [];
        for (let sent = 0; sent < count; sent += 1) answers.push((await instance.get('/no-such-path')).status);
        return answers;
      };
      expect(await statuses(4)).to.deep.equal([404, 404, 404, 429]);
      instance.clock.advance(1);
      expect(await statuses(3)).to.deep.equal([404, 404, 429]);
    });
  });

  it('is off while it is disabled', async () => {
    await withService(limited({ 'Service:RateLimit:Enabled': 'false' }), async (instance) => {
      for (let sent = 0; sent < 5; sent += 1) expect((await instance.get('/no-such-path')).status).to.equal(404);
    });
  });
});
