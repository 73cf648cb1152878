/** Tool servers with unmodified libraries from npm, set up as docs/tool-servers.md says, and task tokens of a running service. */

import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { sqliteFile } from '../../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate, withService } from '../../support/mandate.ts';
import { signingKeySettings } from '../../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';
import { foreignTokens, LOCALLY } from '../../support/tool-server/foreign-tokens.ts';
import { hangingUp } from '../../support/tool-server/hanging-up.ts';
import { type StartedServer, withExpress, withFastify, withFastifyByItsReadme, withPassport } from './tool-servers.ts';

const libraries = {
  'express-oauth2-jwt-bearer': withExpress,
  '@fastify/jwt with get-jwks': withFastify,
  'passport-jwt with jwks-rsa': withPassport,
};

describe('Tool servers with other libraries', () => {
  let key: SigningKey;
  let mandate: Mandate;
  let other: Mandate;
  let agent: RegisteredAgent;
  let port: number;
  const { issued, signed, refused } = foreignTokens(() => ({ mandate, agent, key, other }));

  /** Serves on the port, with a separate database. */
  async function serveWith(...keys: readonly SigningKey[]): Promise<void> {
    const settings = keys.map(({ privateKey }, index) =>
      Object.entries(signingKeySettings(privateKey)).map(([name, pem]) => [name.replace(':0:', `:${index}:`), pem]),
    );
    mandate = await startMandate({
      database: sqliteFile,
      settings: {
        'Service:Issuer': `http://127.0.0.1:${port}`,
        PORT: String(port),
        ...Object.fromEntries(settings.flat()),
        ...(keys.length > 1 && { 'Service:Signing:ActiveKid': keys[0]?.kid ?? '' }),
      },
    });
    agent = await mandate.agent(LOCALLY);
  }

  before(async () => {
    key = await makeSigningKey('ES256');
    port = await freePort();
    await serveWith(key);
    // The same key, so that only `iss` differs.
    const address = await freePort();
    other = await mandate.another({ 'Service:Issuer': `http://127.0.0.1:${address}`, PORT: String(address) });
  });
  after(() => mandate.stop());

  const call = async ({ url }: StartedServer, token?: string) => {
    const answer = await fetch(`${url}/issues/OPS-7`, { headers: token ? { authorization: `Bearer ${token}` } : {} });
    return { status: answer.status, text: await answer.text() };
  };

  for (const [name, startServer] of Object.entries(libraries)) {
    describe(name, () => {
      let server: StartedServer;
      before(async () => {
        server = await startServer({ MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA });
      });
      after(() => server.stop());

      it('accepts a task token, and the handler sees the person and the agent', async () => {
        for (const token of [await issued(), await signed({})]) {
          const { status, text } = await call(server, token);
          expect(status, text).to.equal(200);
          const readBy = { sub: `agent:${agent.id}`, depth: 1 };
          expect(JSON.parse(text)).to.deep.equal({ readFor: 'ada', readBy });
        }
      });

      for (const [which, make] of Object.entries(refused)) {
        it(`refuses a token ${which}`, async () => {
          const token = await make();
          const { status, text } = await call(server, token);
          expect(status, text).to.equal(401);
        });
      }

      it('answers 401 while the keys cannot be fetched', async () => {
        const unreachable = `http://127.0.0.1:${await freePort()}`;
        const alone = await startServer({ MANDATE_ISSUER: unreachable, AUDIENCE: JIRA });
        expect((await call(alone, await issued())).status).to.equal(401);
        await alone.stop();
      });

      it('takes no token from the address, except express-oauth2-jwt-bearer', async () => {
        const { status } = await fetch(`${server.url}/issues/OPS-7?access_token=${await issued()}`);
        expect(status).to.equal(startServer === withExpress ? 200 : 401);
      });

      it('refuses a request without a token with 401, and one without the scope with 403', async () => {
        expect((await call(server)).status).to.equal(401);
        expect((await call(server, await issued({ scope: 'jira:comment' }))).status).to.equal(403);
      });
    });
  }

  it('all accept a task token of an issuer with a path', async () => {
    await withService(
      startMandate({ database: sqliteFile, issuer: 'own-address', issuerPath: '/tenants/one' }),
      async (tenant) => {
        const token = await issued({}, await tenant.agent(LOCALLY));
        for (const [name, startServer] of Object.entries(libraries)) {
          const server = await startServer({ MANDATE_ISSUER: tenant.issuer, AUDIENCE: JIRA });
          const { status, text } = await call(server, token);
          expect(status, `${name}: ${text}`).to.equal(200);
          await server.stop();
        }
      },
    );
  });

  it('@fastify/jwt by the READMEs alone accepts a token for another server, and one of another issuer', async () => {
    const server = await withFastifyByItsReadme();
    for (const which of ['for another server', 'of another issuer that has the same key']) {
      expect((await call(server, await refused[which]?.())).status, which).to.equal(200);
    }
    await server.stop();
  });

  it('@fastify/jwt reaches no handler if the refused client hangs up before the answer', async () => {
    let request: ReturnType<typeof hangingUp> | undefined;
    const server = await withFastify({
      MANDATE_ISSUER: mandate.issuer,
      AUDIENCE: JIRA,
      prepare(app) {
        request = hangingUp(app);
      },
    });
    expect(await request?.(`${server.url}/issues/OPS-7`)).to.equal(false);
    await server.stop();
  });

  describe('after a rotation of the signing key', () => {
    // It uses the database that goes with the former key.
    before(() => other.stop());

    for (const [name, startServer] of Object.entries(libraries)) {
      it(`${name} fetches the keys again and accepts tokens of both`, async () => {
        const next = await makeSigningKey('ES256');
        // Without the library's limit of one fetch in 30 s, for which the test would have to wait.
        const server = await startServer({
          MANDATE_ISSUER: mandate.issuer,
          AUDIENCE: JIRA,
          keyLimits: { cooldownDuration: 0 },
        });
        const former = await issued();
        expect((await call(server, former)).status).to.equal(200);
        await mandate.stop();
        await serveWith(next, key);
        const { status, text } = await call(server, await issued());
        expect(status, text).to.equal(200);
        expect((await call(server, former)).status).to.equal(200);
        await server.stop();
        key = next;
      });
    }
  });
});
