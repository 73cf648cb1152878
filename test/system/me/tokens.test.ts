/** Which tokens and credentials open the API of `/me`, and what opens nothing. */

import { expect } from 'chai';
import {
  allowInsecureRequests,
  discovery,
  fetchProtectedResource,
  None,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { databasesByLength } from '../../support/databases.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';

const ME = 'https://mandate.test/me';
const ON = { 'Service:Me:Audience': ME };
const NOBODY_S_TASK = 'task_01M31S7W68TMK7WDX8YKPSYTE0';

const ROUTES = [
  ['GET', '/me/tasks'],
  ['DELETE', '/me/tasks'],
  ['DELETE', `/me/tasks/${NOBODY_S_TASK}`],
  ['DELETE', '/me/agents/jira-triage/tasks'],
  ['PUT', '/me/pause'],
  ['DELETE', '/me/pause'],
  ['GET', '/me/records'],
  ['GET', '/me/records/1/proof'],
  ['GET', '/me/nothing'],
] as const;

for (const database of databasesByLength) {
  describe(`A token for /me on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    const person = 'hopper';
    before(async () => {
      // Each denial has its own record.
      const settings = { ...ON, 'Service:Me:Pause': 'false', 'Service:Audit:Aggregation:Enabled': 'false' };
      mandate = await startMandate({ database, settings });
      agent = await mandate.agent({ display_name: 'Jira triage' });
    });
    after(() => mandate.stop());

    const tokenOf = (claims: Readonly<Record<string, unknown>> = {}) =>
      agent.subjectToken({ sub: person, aud: ME, ...claims });
    const withToken = (token: string, method: string, path: string) =>
      mandate.send(path, { method, headers: { authorization: `Bearer ${token}` } });
    const begin = async (): Promise<Answer> => {
      const issued = await agent.exchangeFor({ sub: person });
      expect(issued.status, issued.text).to.equal(200);
      return issued;
    };
    const about = (lines: Parameters<typeof fieldsOf>[0]) => fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor');

    it('answers 404 below unknown paths', async () => {
      for (const path of ['/me', '/me/', '/me/tasks/', '/me/agents', '/me/records/1', '/me/Tasks']) {
        expect((await withToken(tokenOf(), 'GET', path)).status, path).to.equal(404);
      }
    });

    it('pauses nothing with Service:Me:Pause false', async () => {
      const { status, body } = await withToken(tokenOf({ auth_time: mandate.clock.seconds() }), 'PUT', '/me/pause');
      expect([status, body.title]).to.deep.equal([404, 'Not Found']);
    });

    describe('refuses at every route, with a record that names no person,', () => {
      /** Sends a request to every route. */
      async function refusedEverywhere(
        headers: Record<string, string>,
        error: string,
        challenge: string,
        reason = error,
      ) {
        const issued = await begin();
        const lines = await mandate.recorded(async () => {
          for (const [method, path] of ROUTES) {
            const where = path.replace(NOBODY_S_TASK, String(issued.body.task_id));
            const answer = await mandate.send(where, { method, headers });
            expect([answer.status, answer.body.error], `${method} ${path}`).to.deep.equal([401, error]);
            expect(answer.headers.get('www-authenticate')).to.equal(challenge);
            for (const value of Object.values(headers)) expect(answer.text).not.to.include(value.slice(-20));
          }
        });
        expect(about(lines)).to.deep.equal(ROUTES.map(() => ['me.denied', 'deny', reason, null]));
        expect((await mandate.introspect(issued)).active).to.equal(true);
      }

      const credentials: Readonly<Record<string, () => string | Promise<string>>> = {
        'the subject token that the agent holds': () => agent.subjectToken({ sub: person }),
        'a task token': async () => String((await begin()).body.access_token),
        'a token for both audiences': () => tokenOf({ aud: [ME, mandate.provider.audience] }),
        'an expired token': () => tokenOf({ exp: mandate.clock.seconds() - 61 }),
        'an altered token': () => `${tokenOf().slice(0, -8)}AAAAAAAA`,
      };
      /** An attempt with the agent's token must not look like an expired one. */
      const OF_ANOTHER_AUDIENCE = ['the subject token that the agent holds', 'a token for both audiences'];
      for (const [what, make] of Object.entries(credentials)) {
        const reason = OF_ANOTHER_AUDIENCE.includes(what) ? 'token_audience_mismatch' : 'invalid_token';
        it(`${what}: 401 invalid_token, recorded as ${reason}`, async () =>
          refusedEverywhere(
            { authorization: `Bearer ${await make()}` },
            'invalid_token',
            'Bearer error="invalid_token"',
            reason,
          ));
      }
      it('a good token in another scheme: 401 invalid_token', async () =>
        refusedEverywhere({ authorization: `DPoP ${tokenOf()}` }, 'invalid_token', 'Bearer error="invalid_token"'));
      it('no credential: 401 missing_token', () => refusedEverywhere({}, 'missing_token', 'Bearer'));
      it('a request with only a cookie, while Service:Me:ClientId is unset: 401 missing_token', () =>
        refusedEverywhere({ cookie: `__Host-mandate-me=${'A'.repeat(43)}` }, 'missing_token', 'Bearer'));
    });

    it('has tokens that the exchange refuses: a token for /me alone, or for both audiences', async () => {
      for (const aud of [ME, [ME, mandate.provider.audience], [mandate.provider.audience, ME]]) {
        const lines = await mandate.recorded(async () => {
          const refused = await agent.exchangeFor({ sub: person, aud });
          expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_grant']);
        });
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id')).to.deep.equal([
          ['token.denied', 'subject_audience_mismatch', agent.id],
        ]);
      }
    });

    it('is used by openid-client with a token for its own audience, signed in at a real provider', async () => {
      const { provider } = mandate;
      const forAgent = await provider.signIn('ada');
      const forMe = await provider.signIn('ada', { resource: ME });
      const issued = await agent.exchange({ subject_token: forAgent.accessToken });
      expect(issued.status, issued.text).to.equal(200);
      const config = await discovery(new URL(provider.issuer), provider.clientId, undefined, None(), {
        execute: [allowInsecureRequests],
      });
      const ask = (token: string, method: string, path: string) =>
        fetchProtectedResource(config, token, new URL(`${mandate.url}${path}`), method);
      const listing = await ask(forMe.accessToken, 'GET', '/me/tasks');
      const { tasks } = (await listing.json()) as { readonly tasks: readonly { readonly task_id: string }[] };
      expect(tasks.map(({ task_id }) => task_id)).to.include(issued.body.task_id);
      const stopped = await ask(forMe.accessToken, 'DELETE', `/me/tasks/${issued.body.task_id}`);
      expect(await stopped.json()).to.deep.equal({ revoked_tasks: 1 });
      const challenged = await ask(forAgent.accessToken, 'GET', '/me/tasks').catch((cause) => cause);
      expect(challenged).to.be.instanceOf(WWWAuthenticateChallengeError);
      expect(challenged.status).to.equal(401);
      expect(challenged.cause[0]).to.deep.include({ scheme: 'bearer', parameters: { error: 'invalid_token' } });
      for (const token of [forMe.accessToken, forMe.idToken]) {
        expect((await agent.exchange({ subject_token: token })).body.error).to.equal('invalid_grant');
      }
      expect((await withToken(forMe.idToken, 'GET', '/me/tasks')).status).to.equal(401);
    });
  });

  describe(`A token for /me while the provider is away, on ${database.name}`, () => {
    it('answers 503 temporarily_unavailable and records subject_keys_unavailable', async () => {
      const provider = await startIdentityProvider({ algorithm: 'ES256' });
      const mandate = await startMandate({ database, provider, settings: ON });
      try {
        const token = provider.mintAccessToken({ aud: ME });
        await provider.goDown();
        const fresh = await mandate.another({}, provider);
        try {
          const lines = await fresh.recorded(async () => {
            const answer = await fresh.get('/me/tasks', { authorization: `Bearer ${token}` });
            expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
            expect(answer.headers.get('retry-after')).to.match(/^\d+$/);
          });
          expect(fieldsOf(lines, 'event', 'reason', 'sponsor')).to.deep.equal([
            ['me.denied', 'subject_keys_unavailable', null],
          ]);
        } finally {
          await fresh.stop();
        }
        await provider.comeBack();
      } finally {
        await mandate.stop();
        await provider.stop();
      }
    });
  });

  describe(`Without Service:Me on ${database.name}`, () => {
    it('its paths are unknown ones, nothing is recorded, and a token for its audience too is accepted', async () => {
      const mandate = await startMandate({ database });
      try {
        const agent = await mandate.agent();
        const nothing = await mandate.get('/nothing');
        const headersOf = ({ headers }: Answer) => [...headers].filter(([name]) => name !== 'date');
        const lines = await mandate.recorded(async () => {
          for (const [method, path] of ROUTES) {
            const token = agent.subjectToken({ aud: ME });
            const answer = await mandate.send(path, { method, headers: { authorization: `Bearer ${token}` } });
            expect([answer.status, answer.text, headersOf(answer)], path).to.deep.equal([
              404,
              nothing.text,
              headersOf(nothing),
            ]);
          }
        });
        expect(lines).to.deep.equal([]);
        expect((await agent.exchangeFor({ aud: [ME, mandate.provider.audience] })).status).to.equal(200);
        for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
          expect((await mandate.get(path)).text).not.to.include('/me');
        }
      } finally {
        await mandate.stop();
      }
    });
  });
}
