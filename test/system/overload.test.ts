/** The concurrency limits: how each surface refuses requests while no permit is free. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { holdRevoking } from '../support/held-permit.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import {
  ADMIN_KEY,
  fieldsOf,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../support/mandate.ts';
import { SCIM_TOKEN } from '../support/scim-client.ts';
import { EVERY_RECEIVER, PUSH_CREDENTIAL } from '../support/transmitter.ts';
import { startUserDirectory, type UserDirectory } from '../support/user-directory.ts';

const ONE_TURN = { 'Service:Overload:ConcurrencyLimit': '1', 'Service:Overload:QueueLimit': '0' };

const SENTENCE = 'The service is at capacity. Retry the request.';
const OAUTH = { error: 'temporarily_unavailable', error_description: SENTENCE };
const PROBLEM = {
  type: 'about:blank',
  title: 'Service Unavailable',
  status: 503,
  error: 'temporarily_unavailable',
  detail: SENTENCE,
};

/** These requests are valid, so only the missing permit can be the reason of the refusal. */
const REVOKING: readonly (readonly [path: string, event: string, type: string, body: object, init?: RequestInit])[] = [
  ['/oauth2/revoke', 'token.denied', 'application/json; charset=utf-8', OAUTH, { method: 'POST' }],
  ['/backchannel-logout', 'signal.denied', 'application/json; charset=utf-8', OAUTH, { method: 'POST' }],
  [
    '/scim/v2/Users',
    'scim.denied',
    'application/scim+json',
    { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '503', detail: SENTENCE },
    { headers: { authorization: `Bearer ${SCIM_TOKEN}` } },
  ],
  [
    '/events',
    'ssf.denied',
    'application/json; charset=utf-8',
    { err: 'temporarily_unavailable', description: SENTENCE },
    { method: 'POST', headers: { authorization: `Bearer ${PUSH_CREDENTIAL}` } },
  ],
  ['/admin/agents', 'admin.denied', 'application/problem+json; charset=utf-8', PROBLEM],
  ['/me/tasks', 'me.denied', 'application/problem+json; charset=utf-8', PROBLEM, { method: 'DELETE' }],
];
const ME = { 'Service:Me:Audience': 'https://mandate.test/me' };

for (const database of databasesByLength) {
  describe(`The concurrency limits on ${database.name}`, () => {
    let mandate: Mandate;
    let narrow: Mandate;
    /** Knows whether a person is active. It answers when a test lets it. */
    let directory: UserDirectory;
    let waiting: (() => void)[];
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database, settings: { ...EVERY_RECEIVER, ...ME } });
      directory = await startUserDirectory(answering({ enabled: true }));
      narrow = await mandate.another({ ...ONE_TURN, ...directory.settings });
      waiting = [];
      agent = await narrow.agent();
    });
    after(async () => {
      await narrow.stop();
      await mandate.stop();
      await directory.server.close();
    });

    /** Runs `act` while an exchange that waits for the directory holds the permit. Resolves with its response. */
    async function whileExchanging(act: () => Promise<unknown>) {
      const usual = directory.answer;
      directory.answer = (...told) => void waiting.push(() => usual(...told));
      const answer = agent.exchange();
      await eventually(() => waiting.length > 0);
      directory.answer = usual;
      await act();
      for (const each of waiting.splice(0)) each();
      return answer;
    }

    it('refuse an exchange with 503 and Retry-After, record it, and do not mark the assertion as used', async () => {
      const form = agent.exchangeForm();
      const lines = await mandate.recorded(async () => {
        const held = await whileExchanging(async () => {
          for (let time = 0; time < 4; time += 1) {
            const answer = await narrow.post('/oauth2/token', form);
            expect(answer.status).to.equal(503);
            expect(answer.body).to.deep.equal(OAUTH);
            expect(Object.fromEntries(answer.headers)).to.include({
              'retry-after': '1',
              'cache-control': 'no-store',
              pragma: 'no-cache',
              'content-type': 'application/json; charset=utf-8',
            });
          }
          // Other kinds of work have their own permits.
          expect((await narrow.post('/oauth2/introspect', { token: 'x' })).body).to.deep.equal({ active: false });
          expect((await narrow.admin('GET', '/admin/agents?limit=1')).status).to.equal(200);
          for (const path of ['/healthz', '/.well-known/jwks.json']) {
            expect((await narrow.get(path)).status, path).to.equal(200);
          }
        });
        expect(held.status).to.equal(200);
        expect((await narrow.post('/oauth2/token', form)).status).to.equal(200);
        narrow.clock.advance(120);
        await narrow.jobs.closeWindows();
      });
      const refusals = lines.filter((line) => line.reason === 'overloaded');
      expect(refusals.map(({ count }) => count)).to.deep.equal([undefined, 3]);
      for (const line of refusals) {
        expect(line).to.include({ event: 'token.denied', decision: 'deny', agent_id: null, sponsor: null });
        expect(line).to.include({ task_id: null, jti: null, audience: null, scope: null });
      }
    });

    it("give all revoking surfaces one common permit, and refuse each request in the surface's format", async () => {
      const lines = await mandate.recorded(async () => {
        const release = await holdRevoking(narrow);
        try {
          for (const [path, , type, body, init] of REVOKING) {
            const response = await fetch(`${narrow.url}${path}`, init);
            expect(response.status, path).to.equal(503);
            expect(Object.fromEntries(response.headers), path).to.include({
              'retry-after': '1',
              'cache-control': 'no-store',
              'content-type': type,
            });
            expect(await response.json(), path).to.deep.equal(body);
          }
          expect((await narrow.post('/oauth2/token', agent.exchangeForm())).status).to.equal(200);
        } finally {
          await release();
        }
      });
      const refusals = lines.filter((line) => line.reason === 'overloaded');
      expect(refusals.map(({ event }) => event)).to.deep.equal(REVOKING.map(([, event]) => event));
      expect((await narrow.admin('GET', '/admin/agents?limit=1')).status).to.equal(200);
    });

    it('let sign-ins that wait for the identity provider take no permit of other requests', async () => {
      const provider = await startLoopback((...told) => void waiting.push(() => answering({})(...told)));
      const settings = {
        ...ONE_TURN,
        'Service:Me:ClientId': 'page',
        'Service:Me:Audience': '',
        'Service:UpstreamIdp:Issuer': provider.url,
      };
      await withService(mandate.another(settings), async (page) => {
        const lines = await mandate.recorded(async () => {
          const both = [page.get('/me/sign-in'), page.get('/me/sign-in')];
          // The other one waits for the provider, and holds the only permit.
          const refused = await Promise.race(both);
          expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
          for (const path of ['/.well-known/jwks.json', '/.well-known/openid-configuration', '/audit?limit=1']) {
            const answer = await page.get(path, { authorization: `Bearer ${ADMIN_KEY}` });
            expect(answer.status, path).to.equal(200);
          }
          for (const answer of waiting.splice(0)) answer();
          await Promise.all(both);
        });
        expect(lines.map(({ event, reason }) => [event, reason])).to.deep.include(['me.denied', 'overloaded']);
        expect(
          fieldsOf(
            lines.filter(({ reason }) => reason === 'overloaded'),
            'decision',
            'sponsor',
            'agent_id',
          ),
        ).to.deep.equal([['deny', null, null]]);
      });
      await provider.close();
    });

    it('refuse nothing while they are disabled', async () => {
      await withService(mandate.another({ ...ONE_TURN, 'Service:Overload:Enabled': 'false' }), async (open) => {
        const others = Array.from({ length: 20 }, async () => (await open.admin('GET', '/audit?limit=1')).status);
        expect(await Promise.all(others)).to.deep.equal(Array(20).fill(200));
      });
    });
  });
}
