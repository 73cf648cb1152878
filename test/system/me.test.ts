/** A person's own surface (`Service:Me`): what acts for them, their stop, their pause and their records. */

import { expect } from 'chai';
import {
  allowInsecureRequests,
  discovery,
  fetchProtectedResource,
  None,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { databases, databasesByLength } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import {
  type Answer,
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
} from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

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

interface ListedTask {
  readonly task_id: string;
  readonly [field: string]: unknown;
}

for (const database of databases) {
  describe(`A person's own surface on ${database.name}`, () => {
    let mandate: Mandate;
    let replica: Mandate;
    let agent: RegisteredAgent;
    let number = 0;
    /** A person without tasks and blocks, for each test. */
    let person: string;
    before(async () => {
      mandate = await startMandate({ database, settings: { ...sharedSigningKey(), ...ON } });
      replica = await mandate.another({});
      agent = await mandate.agent({ display_name: 'Jira triage' });
    });
    beforeEach(() => {
      number += 1;
      person = `person-${number}`;
    });
    after(async () => {
      await replica.stop();
      await mandate.stop();
    });

    const tokenOf = (claims: Readonly<Record<string, unknown>> = {}) =>
      agent.subjectToken({ sub: person, aud: ME, ...claims });
    const withToken = (token: string, method: string, path: string, at = mandate) =>
      at.send(path, { method, headers: { authorization: `Bearer ${token}` } });
    const my = (method: string, path: string, claims?: Readonly<Record<string, unknown>>) =>
      withToken(tokenOf(claims), method, path);
    const begin = async (of = agent, claims = {}, form = {}): Promise<Answer> => {
      const issued = await of.exchangeFor({ sub: person, ...claims }, form);
      expect(issued.status, issued.text).to.equal(200);
      return issued;
    };
    const listed = async (query = ''): Promise<readonly ListedTask[]> => {
      const answer = await my('GET', `/me/tasks${query}`);
      expect(answer.status, answer.text).to.equal(200);
      return answer.body.tasks as readonly ListedTask[];
    };
    /** Signed in this long ago. */
    const signedIn = (secondsAgo: number) => ({ auth_time: mandate.clock.seconds() - secondsAgo });
    const about = (lines: Parameters<typeof fieldsOf>[0]) => fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor');

    it('lists what acts for the person, live tasks first, with every field and no other task', async () => {
      const first = await begin();
      const second = await begin(agent, {}, { resource: WIKI, scope: 'jira:read' });
      await agent.exchangeFor({ sub: 'somebody-else' });
      await agent.refresh(String(first.body.refresh_token));
      await mandate.admin('DELETE', `/admin/tasks/${second.body.task_id}`);
      const answer = await my('GET', '/me/tasks');
      expect(answer.headers.get('cache-control')).to.equal('no-store');
      expect(answer.body.next_after).to.equal(null);
      const tasks = answer.body.tasks as readonly ListedTask[];
      const [live, ended] = tasks;
      expect(tasks).to.deep.equal([
        {
          task_id: first.body.task_id,
          agent_id: agent.id,
          display_name: 'Jira triage',
          audience: JIRA,
          scope: 'jira:read jira:comment',
          started_at: live?.started_at,
          expires_at: first.body.task_expires_at,
          state: 'live',
          ended_at: null,
          reason: null,
          renewals: 1,
        },
        {
          task_id: second.body.task_id,
          agent_id: agent.id,
          display_name: 'Jira triage',
          audience: WIKI,
          scope: 'jira:read',
          started_at: ended?.started_at,
          expires_at: second.body.task_expires_at,
          state: 'revoked',
          ended_at: ended?.ended_at,
          reason: 'operator_kill_switch',
          renewals: 0,
        },
      ]);
      for (const time of [live?.started_at, ended?.ended_at])
        expect(time).to.match(/^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d{1,3})?Z$/);
    });

    it('shows a task whose time is up as expired, although the sweeper has not recorded it', async () => {
      const brief = await mandate.agent({ max_task_ttl: 'PT1M', max_token_ttl: 'PT1M' });
      const issued = await begin(brief);
      for (const instance of [mandate, replica]) instance.clock.advance(61);
      const [task] = await listed();
      const end = { state: 'expired', ended_at: issued.body.task_expires_at, reason: 'task_ttl_elapsed' };
      expect(task).to.include({ task_id: issued.body.task_id, ...end });
    });

    it('pages through the tasks, and refuses a limit or a position that is not one', async () => {
      const begun: unknown[] = [];
      for (let nth = 0; nth < 5; nth++) begun.unshift((await begin()).body.task_id);
      const pages: string[][] = [];
      for (let after = ''; ; ) {
        const page = await my('GET', `/me/tasks?limit=2${after}`);
        pages.push((page.body.tasks as ListedTask[]).map(({ task_id }) => task_id));
        if (page.body.next_after === null) break;
        expect(page.body.next_after).to.match(/^[\w-]+$/);
        after = `&after=${page.body.next_after}`;
      }
      expect(pages.map((page) => page.length)).to.deep.equal([2, 2, 1]);
      expect(pages.flat()).to.deep.equal(begun);
      const cursor = Buffer.from(`1 ${NOBODY_S_TASK}`).toString('base64url');
      expect((await my('GET', `/me/tasks?limit=100&after=${cursor}`)).status).to.equal(200);
      for (const [query, field] of [
        ['limit=0', 'limit'],
        ['limit=101', 'limit'],
        ['limit=x', 'limit'],
        ['limit=1&limit=2', 'limit'],
        ['after=', 'after'],
        [`after=${NOBODY_S_TASK}`, 'after'],
        [`after=${cursor}=`, 'after'],
        [`after=${Buffer.from(`99999999999999999 ${NOBODY_S_TASK}`).toString('base64url')}`, 'after'],
        [`after=${Buffer.from(`9999999999999999 ${NOBODY_S_TASK}`).toString('base64url')}`, 'after'],
        [`after=${Buffer.from('1 task_x').toString('base64url')}`, 'after'],
        ['cursor=x', 'cursor'],
      ]) {
        const refused = await my('GET', `/me/tasks?${query}`);
        expect([refused.status, Object.keys(refused.body.errors ?? {})], query).to.deep.equal([400, [field]]);
      }
    });

    const stops = [
      ['one task', (issued: Answer) => `/me/tasks/${issued.body.task_id}`, 1],
      ['the tasks of an agent', () => `/me/agents/${agent.id}/tasks`, 2],
      ['all tasks', () => '/me/tasks', 3],
    ] as const;
    for (const [what, where, count] of stops) {
      it(`stops ${what} on every replica, once, with the reason sponsor_stopped, and no task of another person`, async () => {
        const issued = [await begin(), await begin(), await begin(await mandate.agent())];
        const others = await agent.exchangeFor({ sub: 'somebody-else' });
        const [first] = issued;
        if (first === undefined) throw new Error('no task');
        const lines = await mandate.recorded(async () => {
          const stopped = await my('DELETE', where(first));
          expect([stopped.status, stopped.body]).to.deep.equal([200, { revoked_tasks: count }]);
          const again = await my('DELETE', where(first));
          expect([again.status, again.body]).to.deep.equal([200, { revoked_tasks: 0 }]);
        });
        const ended = issued.slice(0, count);
        expect(about(lines)).to.deep.equal(ended.map(() => ['task.revoked', 'allow', 'sponsor_stopped', person]));
        for (const [nth, token] of issued.entries()) {
          const seen = await replica.introspect(token);
          if (nth < count) expect(seen).to.include({ active: false, revocation_reason: 'sponsor_stopped' });
          else expect(seen.active).to.equal(true);
        }
        expect((await replica.introspect(others)).active).to.equal(true);
        const refused = await replica.post('/oauth2/token', agent.refreshForm(String(first.body.refresh_token)));
        expect(refused.body).to.include({ error: 'access_denied', reason: 'task_revoked' });
        // A stop is no block.
        expect((await agent.exchangeFor({ sub: person })).status).to.equal(200);
      });
    }

    it("answers 404 in the same words for another person's task, an unknown one and a malformed id; nothing ends", async () => {
      const other = await agent.exchangeFor({ sub: 'somebody-else' });
      const answers: Answer[] = [];
      const lines = await mandate.recorded(async () => {
        for (const id of [other.body.task_id, NOBODY_S_TASK, 'task_x', '%20']) {
          answers.push(await my('DELETE', `/me/tasks/${id}`));
        }
      });
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1);
      expect(answers[0]?.status).to.equal(404);
      expect(lines).to.deep.equal([]);
      expect((await mandate.introspect(other)).active).to.equal(true);
    });

    it('answers 0 for an agent without tasks of the person, whether it exists or not', async () => {
      await agent.exchangeFor({ sub: 'somebody-else' });
      for (const id of [agent.id, 'no-such-agent', 'Not an id', '%3Cb%3E']) {
        const answer = await my('DELETE', `/me/agents/${id}/tasks`);
        expect([answer.status, answer.body], id).to.deep.equal([200, { revoked_tasks: 0 }]);
      }
    });

    it('pauses all agents: the tasks end, and no agent starts or renews one on any replica, until the person resumes', async () => {
      const issued = await begin();
      const lines = await mandate.recorded(async () => {
        const paused = await my('PUT', '/me/pause', signedIn(1000));
        expect(paused.status, paused.text).to.equal(200);
        const { sponsor, revoked_tasks } = paused.body as Record<string, Record<string, unknown>>;
        expect(Object.keys(sponsor ?? {})).to.deep.equal(['sponsor_key', 'source', 'kind', 'blocked_at']);
        expect(sponsor).to.include({ sponsor_key: person, source: 'self', kind: 'disabled' });
        expect(revoked_tasks).to.equal(1);
        const again = await my('PUT', '/me/pause', signedIn(1000));
        expect(again.body).to.deep.equal({ sponsor, revoked_tasks: 0 });
      });
      expect(about(lines)).to.deep.equal([
        ['sponsor.blocked', 'allow', 'sponsor_paused', person],
        ['task.revoked', 'allow', 'sponsor_paused', person],
      ]);
      expect(await replica.introspect(issued)).to.include({ active: false, revocation_reason: 'sponsor_paused' });
      const exchange = () =>
        replica.post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken({ sub: person }) }));
      expect((await exchange()).body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      expect((await mandate.admin('GET', `/admin/sponsors/${person}`)).body).to.include({ source: 'self' });

      const resumed = await mandate.recorded(async () => {
        const answer = await my('DELETE', '/me/pause', signedIn(10));
        expect([answer.status, answer.text]).to.deep.equal([204, '']);
      });
      expect(about(resumed)).to.deep.equal([['sponsor.unblocked', 'allow', 'sponsor_resumed', person]]);
      expect((await exchange()).status).to.equal(200);
      // Ended tasks stay ended.
      expect((await replica.introspect(issued)).active).to.equal(false);
      expect((await my('DELETE', '/me/pause', signedIn(10))).status).to.equal(404);
    });

    for (const [what, claims] of [
      ['without auth_time', () => ({})],
      ['more than five minutes and the clock skew ago', () => signedIn(361)],
      ['in the future', () => signedIn(-90)],
      ['at a time that is not a number', () => ({ auth_time: String(mandate.clock.seconds()) })],
    ] as const) {
      it(`does not resume for a sign-in ${what}: 401 with max_age, recorded with the person`, async () => {
        await my('PUT', '/me/pause', signedIn(1000));
        const lines = await mandate.recorded(async () => {
          const refused = await my('DELETE', '/me/pause', claims());
          expect([refused.status, refused.body.error]).to.deep.equal([401, 'insufficient_user_authentication']);
          expect(refused.headers.get('www-authenticate')).to.equal(
            'Bearer error="insufficient_user_authentication", max_age=300',
          );
        });
        expect(about(lines)).to.deep.equal([['me.denied', 'deny', 'sign_in_too_old', person]]);
        expect((await agent.exchangeFor({ sub: person })).body.reason).to.equal('sponsor_disabled');
        expect((await my('DELETE', '/me/pause', signedIn(330))).status).to.equal(204);
      });
    }

    for (const [what, isLiftable, claims] of [
      ['without auth_time', false, () => ({})],
      ['with auth_time null', false, () => ({ auth_time: null })],
      ['at 0', false, () => ({ auth_time: 0 })],
      ['at a time as text', false, () => ({ auth_time: String(mandate.clock.seconds()) })],
      ['at a fraction of a second', false, () => ({ auth_time: mandate.clock.seconds() - 0.5 })],
      ['a year ago', false, () => signedIn(365 * 86_400)],
      ['in the future', false, () => signedIn(-90)],
      ['just less than a year ago', true, () => signedIn(365 * 86_400 - 90)],
      ['by a clock that is a little ahead', true, () => signedIn(-30)],
    ] as const) {
      it(`${isLiftable ? 'pauses' : 'does not pause'} for a sign-in ${what}${isLiftable ? '' : ': 409, recorded with the person, and their tasks go on'}`, async () => {
        const issued = await begin();
        const lines = await mandate.recorded(async () => {
          const { status, body, headers } = await my('PUT', '/me/pause', claims());
          if (isLiftable) {
            expect([status, body.revoked_tasks]).to.deep.equal([200, 1]);
          } else {
            expect([status, body.error, headers.get('content-type')]).to.deep.equal([
              ...[409, 'pause_not_liftable', 'application/problem+json; charset=utf-8'],
            ]);
          }
        });
        expect(about(lines)).to.deep.equal(
          isLiftable
            ? [
                ['sponsor.blocked', 'allow', 'sponsor_paused', person],
                ['task.revoked', 'allow', 'sponsor_paused', person],
              ]
            : [['me.denied', 'deny', 'pause_not_liftable', person]],
        );
        expect((await replica.introspect(issued)).active).to.equal(!isLiftable);
      });
    }

    it("lets neither the person lift another source's block nor that source theirs; a blocked person looks, stops and resumes nothing", async () => {
      const issued = await begin();
      await mandate.block(person, 'disabled');
      for (const paused of [false, true]) {
        if (paused) await my('PUT', '/me/pause', signedIn(1000));
        const lines = await mandate.recorded(async () => {
          const refused = await my('DELETE', '/me/pause', signedIn(0));
          expect([refused.status, refused.headers.get('content-type')]).to.deep.equal([
            409,
            'application/problem+json; charset=utf-8',
          ]);
        });
        expect(about(lines)).to.deep.equal([['sponsor.unblocked', 'deny', 'sponsor_block_not_owned', person]]);
      }
      expect((await listed()).map(({ task_id }) => task_id)).to.deep.equal([issued.body.task_id]);
      expect((await my('DELETE', '/me/tasks')).body).to.deep.equal({ revoked_tasks: 0 });
      expect((await mandate.admin('DELETE', `/admin/sponsors/${person}/block`)).status).to.equal(204);
      expect((await mandate.admin('DELETE', `/admin/sponsors/${person}/block`)).status).to.equal(409);
      expect((await agent.exchangeFor({ sub: person })).body.reason).to.equal('sponsor_disabled');
      expect((await my('DELETE', '/me/pause', signedIn(0))).status).to.equal(204);
      expect((await agent.exchangeFor({ sub: person })).status).to.equal(200);
    });

    it('with Pause false refuses a new pause, but still lifts an earlier one', async () => {
      await my('PUT', '/me/pause', signedIn(1000));
      const without = await mandate.another({ 'Service:Me:Pause': 'false' });
      without.clock.advance(mandate.clock.seconds() - without.clock.seconds());
      try {
        const refused = await withToken(tokenOf(signedIn(0)), 'PUT', '/me/pause', without);
        expect([refused.status, refused.body.title]).to.deep.equal([404, 'Not Found']);
        const resumed = await withToken(tokenOf(signedIn(0)), 'DELETE', '/me/pause', without);
        expect(resumed.status).to.equal(204);
      } finally {
        await without.stop();
      }
    });

    it("answers the person's records and proofs byte for byte as /audit does, and no other record", async () => {
      const issued = await begin();
      await my('DELETE', `/me/tasks/${issued.body.task_id}`);
      await begin();
      const other = await mandate.recorded(async () => agent.exchangeFor({ sub: 'somebody-else' }));
      await mandate.jobs.seal();
      const all = await my('GET', '/me/records');
      expect(all.text).to.equal((await mandate.admin('GET', `/audit?sponsor=${person}`)).text);
      const first = await my('GET', '/me/records?limit=2');
      expect(first.text).to.equal((await mandate.admin('GET', `/audit?sponsor=${person}&limit=2`)).text);
      const next = await my('GET', `/me/records?limit=2&cursor=${first.body.next_cursor}`);
      const same = await mandate.admin('GET', `/audit?sponsor=${person}&limit=2&cursor=${first.body.next_cursor}`);
      expect(next.text).to.equal(same.text);
      const records = all.body.records as readonly Record<string, unknown>[];
      expect(records.map(({ event }) => event)).to.deep.equal(['token.issued', 'task.revoked', 'token.issued']);
      for (const { seq } of records) {
        const proof = await my('GET', `/me/records/${seq}/proof`);
        const audited = await mandate.admin('GET', `/audit/records/${seq}/proof`);
        expect([proof.status, proof.text]).to.deep.equal([200, audited.text]);
      }
      const unsealed = await mandate.recorded(() => begin());
      const strange = [other[0]?.seq, unsealed[0]?.seq, 99_999_999, 0, '01', '-1', 'x', '9007199254740993'];
      const answers = await Promise.all(strange.map((seq) => my('GET', `/me/records/${seq}/proof`)));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).to.equal(1);
      expect(answers[0]?.status).to.equal(404);
    });

    it('refuses a filter, a limit of 0 and a foreign cursor of /me/records with 400', async () => {
      await begin();
      await begin();
      const page = await mandate.admin('GET', '/audit?sponsor=somebody-else&limit=1');
      for (const [query, field] of [
        ['sponsor=somebody-else', 'sponsor'],
        ['task_id=x', 'task_id'],
        ['limit=0', 'limit'],
        [`cursor=${page.body.next_cursor}`, 'cursor'],
      ]) {
        const refused = await my('GET', `/me/records?${query}`);
        expect([refused.status, Object.keys(refused.body.errors ?? {})], query).to.deep.equal([400, [field]]);
      }
    });

    it('answers 404 below unknown paths', async () => {
      for (const path of ['/me', '/me/', '/me/tasks/', '/me/agents', '/me/records/1', '/me/Tasks']) {
        expect((await my('GET', path)).status, path).to.equal(404);
      }
    });

    describe('refuses at every route, with a record that names no person,', () => {
      /** Each denial has its own record. */
      let alone: Mandate;
      before(async () => {
        alone = await mandate.another({ 'Service:Audit:Aggregation:Enabled': 'false' });
        alone.clock.advance(mandate.clock.seconds() - alone.clock.seconds());
      });
      after(() => alone.stop());

      /** Sends a request to every route. */
      async function refusedEverywhere(
        headers: Record<string, string>,
        error: string,
        challenge: string,
        reason = error,
      ) {
        const issued = await begin();
        const lines = await alone.recorded(async () => {
          for (const [method, path] of ROUTES) {
            const where = path.replace(NOBODY_S_TASK, String(issued.body.task_id));
            const answer = await alone.send(where, { method, headers });
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
        'a token for another audience': () => tokenOf({ aud: 'https://mandate.test/ME' }),
        'a token with an act': () => tokenOf({ act: { sub: 'agent:jira-triage' } }),
        'a token of an agent': () => tokenOf({ sub: 'Agent:jira-triage' }),
        'a token that an application got for itself': () => tokenOf({ client_id: person }),
        'a token of a grant without a user': () => tokenOf({ idtyp: 'app' }),
        'an expired token': () => tokenOf({ exp: mandate.clock.seconds() - 61 }),
        'a token without exp': () => tokenOf({ exp: undefined }),
        'a token of another issuer': () => tokenOf({ iss: mandate.issuer }),
        'a token without a sub': () => tokenOf({ sub: undefined }),
        'a logout token': () => mandate.provider.signLogoutToken({ aud: ME, sub: person }),
        'an altered token': () => `${tokenOf().slice(0, -8)}AAAAAAAA`,
        'text that is no token': () => 'this-is-no-token-at-all',
        'the grant of a task': async () => String((await begin()).body.refresh_token),
      };
      /** An attempt with the agent's token must not look like an expired one. */
      const OF_ANOTHER_AUDIENCE = [
        'the subject token that the agent holds',
        'a token for both audiences',
        'a token for another audience',
      ];
      // A token is refused before the database is asked. In `npm test`, Postgres gets a denial of each reason.
      const most = databasesByLength.includes(database) ? undefined : 2;
      for (const [what, make] of Object.entries(credentials).slice(0, most)) {
        const reason = OF_ANOTHER_AUDIENCE.includes(what) ? 'token_audience_mismatch' : 'invalid_token';
        it(`${what}: 401 invalid_token, recorded as ${reason}`, async () =>
          refusedEverywhere(
            { authorization: `Bearer ${await make()}` },
            'invalid_token',
            'Bearer error="invalid_token"',
            reason,
          ));
      }
      it('both reasons are summed up separately, in records that name no person', async () => {
        const summing = await mandate.another({ 'Service:Audit:Aggregation:Window': 'PT1M' });
        summing.clock.advance(mandate.clock.seconds() - summing.clock.seconds());
        const lines = await mandate.recorded(async () => {
          for (const token of [agent.subjectToken({ sub: person }), tokenOf({ exp: mandate.clock.seconds() - 61 })]) {
            for (let times = 0; times < 3; times += 1) {
              const answer = await summing.get('/me/tasks', { authorization: `Bearer ${token}` });
              expect(answer.status).to.equal(401);
            }
          }
          await summing.stop();
        });
        expect(fieldsOf(lines, 'event', 'reason', 'sponsor', 'count')).to.deep.equal([
          ['me.denied', 'token_audience_mismatch', null, undefined],
          ['me.denied', 'invalid_token', null, undefined],
          ['me.denied', 'token_audience_mismatch', null, 2],
          ['me.denied', 'invalid_token', null, 2],
        ]);
      });
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
      const { tasks } = (await listing.json()) as { readonly tasks: readonly ListedTask[] };
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

    it('resumes with a token of a real sign-in, whose auth_time is recent', async () => {
      const real = await mandate.another({});
      try {
        const { accessToken } = await mandate.provider.signIn('grace', { resource: ME });
        expect((await withToken(accessToken, 'PUT', '/me/pause', real)).status).to.equal(200);
        expect((await withToken(accessToken, 'DELETE', '/me/pause', real)).status).to.equal(204);
      } finally {
        await real.stop();
      }
    });

    it('shows names with markup, bidirectional controls and emoji as the text that was registered', async () => {
      const name = `<script>alert(1)</script>\u202e"&'${'\u{1F469}\u200D\u{1F680}'.repeat(15)}`;
      const marked = await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: name });
      expect(marked.status, marked.text).to.equal(200);
      await begin();
      expect((await listed())[0]?.display_name).to.equal(name);
      const answer = await my('GET', '/me/tasks');
      expect(answer.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    });
  });

  describe(`A person's own surface while the provider is away, on ${database.name}`, () => {
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
