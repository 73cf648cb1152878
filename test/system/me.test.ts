/** A person's own surface (`Service:Me`): what acts for them, their stop, their pause and their records. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
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

interface ListedTask {
  readonly task_id: string;
  readonly [field: string]: unknown;
}

for (const database of databasesByLength) {
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
        ['limit=1&limit=2', 'limit'],
        ['after=', 'after'],
        [`after=${NOBODY_S_TASK}`, 'after'],
        [`after=${cursor}=`, 'after'],
        [`after=${Buffer.from(`99999999999999999 ${NOBODY_S_TASK}`).toString('base64url')}`, 'after'],
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

    it('refuses a filter and a foreign cursor of /me/records with 400', async () => {
      await begin();
      await begin();
      const page = await mandate.admin('GET', '/audit?sponsor=somebody-else&limit=1');
      for (const [query, field] of [
        ['sponsor=somebody-else', 'sponsor'],
        [`cursor=${page.body.next_cursor}`, 'cursor'],
      ]) {
        const refused = await my('GET', `/me/records?${query}`);
        expect([refused.status, Object.keys(refused.body.errors ?? {})], query).to.deep.equal([400, [field]]);
      }
    });
  });
}
