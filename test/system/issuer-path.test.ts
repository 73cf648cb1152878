/** An issuer with a path: every endpoint also exists below it (supplement "Sizes and forms nobody wrote down"). */

import { expect } from 'chai';
import { freePort } from '../../scripts/free-port.ts';
import { databasesByLength } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Answer,
  aRegistration,
  fieldsOf,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../support/mandate.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { scimClient } from '../support/scim-client.ts';
import { EVERY_RECEIVER } from '../support/transmitter.ts';

const PREFIX = '/tenants/one';
const SETTINGS = { ...EVERY_RECEIVER, 'Service:Audit:Aggregation:Enabled': 'false' };

/** Requests without a credential, which each surface refuses, and the surface in the metric. */
const refused: readonly (readonly [method: string, path: string, surface: string])[] = [
  ['POST', '/oauth2/token', 'token'],
  ['POST', '/oauth2/introspect', 'introspection'],
  ['POST', '/oauth2/revoke', 'revocation'],
  ['GET', '/oauth2/token', 'token'],
  ['POST', '/oauth2/nothing-here', 'other'],
  ['POST', '/backchannel-logout', 'backchannel_logout'],
  ['GET', '/scim/v2/Users', 'scim'],
  ['POST', '/events', 'events'],
  ['GET', '/admin/agents', 'admin'],
  ['GET', '/audit?limit=1', 'audit'],
  ['GET', '/agents/nobody/jwks.json', 'keys'],
  ['POST', '/.well-known/jwks.json', 'keys'],
  ['POST', '/healthz', 'health'],
  ['GET', '/no-such-path', 'other'],
];

async function ask(url: string, method: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method });
  const { date, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

for (const database of databasesByLength) {
  describe(`An issuer with a path on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let metricsPort: number;
    before(async () => {
      metricsPort = await freePort();
      mandate = await startMandate({
        database,
        issuer: 'own-address',
        issuerPath: PREFIX,
        settings: { ...SETTINGS, 'Service:Metrics:Port': String(metricsPort) },
      });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const refusalsAt = async (surface: string) =>
      (await scrape(metricsPort)).value('mandate_requests_total', { outcome: 'refused', surface }) ?? 0;
    const recordsOf = async (act: () => Promise<unknown>) =>
      fieldsOf(await mandate.recorded(act), 'event', 'decision', 'reason');

    it('serves the same metadata under the path, behind the well-known path, and without the path', async () => {
      const plain = await mandate.get('/.well-known/openid-configuration');
      expect(plain.body).to.include({ issuer: mandate.issuer, token_endpoint: `${mandate.url}${PREFIX}/oauth2/token` });
      for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
        for (const where of [`${PREFIX}${path}`, `${path}${PREFIX}`, path]) {
          const found = await mandate.get(where);
          expect(found.status, where).to.equal(200);
          expect(found.body, where).to.deep.equal(plain.body);
          expect(found.headers.get('access-control-allow-origin'), where).to.equal('*');
          expect(found.headers.get('cache-control'), where).to.equal('public, max-age=300');
        }
      }
    });

    it('answers at every URL of its metadata', async () => {
      const { body } = await mandate.get(`/.well-known/oauth-authorization-server${PREFIX}`);
      expect(await (await fetch(String(body.jwks_uri))).json()).to.deep.equal(
        (await mandate.get('/.well-known/jwks.json')).body,
      );
      const post = async (endpoint: string, form: Readonly<Record<string, string | undefined>>): Promise<Answer> =>
        mandate.post(new URL(String(body[endpoint])).pathname, form);
      const issued = await post('token_endpoint', agent.exchangeForm());
      expect(issued.status, issued.text).to.equal(200);
      const grant = String(issued.body.refresh_token);
      const renewed = await post('token_endpoint', agent.refreshForm(grant));
      const token = String(renewed.body.access_token);
      expect((await post('introspection_endpoint', { token })).body.active).to.equal(true);
      expect((await post('revocation_endpoint', agent.revokeForm(grant))).status).to.equal(200);
      expect((await post('introspection_endpoint', { token })).body.active).to.equal(false);
    });

    it('answers each surface under its path with the same response, records and metrics as without it', async () => {
      for (const [method, path, surface] of refused) {
        const answers: unknown[] = [];
        const records: unknown[] = [];
        for (const where of [path, `${PREFIX}${path}`]) {
          const before = await refusalsAt(surface);
          records.push(
            await recordsOf(async () => {
              answers.push(await ask(`${mandate.url}${where}`, method));
            }),
          );
          // The service counts a request only after it has sent the response.
          await eventually(async () => (await refusalsAt(surface)) > before);
          expect(await refusalsAt(surface), where).to.equal(before + 1);
        }
        expect(answers[1], path).to.deep.equal(answers[0]);
        expect(records[1], path).to.deep.equal(records[0]);
      }
    });

    it("is part of the addresses of agents, provisioned users and agents' keys", async () => {
      const registration = aRegistration({ agent_id: 'by-its-location', jwks: agent.key.jwks });
      const { status, headers } = await mandate.admin('POST', `${PREFIX}/admin/agents`, registration);
      expect([status, headers.get('location')]).to.deep.equal([201, `${PREFIX}/admin/agents/by-its-location`]);
      expect((await mandate.admin('GET', String(headers.get('location')))).body.agent_id).to.equal('by-its-location');
      expect((await mandate.get(`${PREFIX}/agents/by-its-location/jwks.json`)).body).to.deep.equal(agent.key.jwks);

      const scim = scimClient({ url: `${mandate.url}${PREFIX}` });
      const user = await scim.send('POST', '/Users', { userName: 'ada@example.com', externalId: 'ada-of-the-path' });
      expect(user.status, user.text).to.equal(201);
      const location = String(user.headers.get('location'));
      expect(location).to.equal(`${mandate.issuer}/scim/v2/Users/${String(user.body.id)}`);
      expect((await scim.send('GET', location.slice(`${mandate.issuer}/scim/v2`.length))).status).to.equal(200);
    });

    it('answers 404 under similar paths', async () => {
      const similar = [
        '/tenants/onex',
        '/Tenants/one',
        '/tenants%2Fone',
        `${PREFIX}${PREFIX}`,
        `${PREFIX}/`,
        `/${PREFIX}`,
      ];
      const others = ['/tenants', PREFIX, `${PREFIX}/`, `/.well-known/jwks.json${PREFIX}`];
      for (const path of [...others, ...similar.map((prefix) => `${prefix}/healthz`)]) {
        const answer = await mandate.get(path);
        expect([answer.status, answer.headers.get('content-type')], path).to.deep.equal([
          404,
          'application/problem+json; charset=utf-8',
        ]);
      }
    });
  });
}
