/**
 * The grant of a task that its person started. A client that redeemed the code by its `client_id` alone gets a new grant at
 * each refresh (RFC 9700 §4.14.2). What ended such a task makes the client ask the person again.
 */

import { expect } from 'chai';
import { allowedRequest } from '../../support/authorize/allowed-request.ts';
import { databasesByLength } from '../../support/databases.ts';
import { answering } from '../../support/loopback.ts';
import {
  type Answer,
  fieldsOf,
  JIRA,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  WIKI,
  withService,
} from '../../support/mandate.ts';
import { startUserDirectory } from '../../support/user-directory.ts';
import { keyAgent, keyOf, publicAgent, publicRefresh, redeemed, startDoor, token } from './clients.ts';

const GRANT_SENTENCE = 'The task grant is unknown, was revoked, or belongs to another agent.';
const ROTATING = /^task_grant_[A-Za-z0-9_-]{43}\.[A-Za-z0-9_-]{43}$/;

const grantIn = ({ body }: Answer) => String(body.refresh_token);

for (const database of databasesByLength) {
  describe(`The grant of a task that its person started, on ${database.name}`, () => {
    let mandate: Mandate;
    let editor: RegisteredAgent;
    before(async () => {
      mandate = await startDoor(database);
    });
    beforeEach(async () => {
      editor = await publicAgent(mandate);
    });
    after(() => mandate.stop());

    const refresh = (grant: string, form = {}) => publicRefresh(mandate, editor, grant, form);

    async function told(act: () => Promise<Answer>): Promise<[Answer, readonly LedgerLine[]]> {
      let answer: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        answer = await act();
      });
      if (answer === undefined) throw new Error('no answer');
      return [answer, lines];
    }

    it('rotates at each refresh, within the same family', async () => {
      const first = await redeemed(mandate, editor);
      let grant = grantIn(first);
      const seen = new Set([grant]);
      for (let nth = 0; nth < 3; nth += 1) {
        const answer = await refresh(grant);
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.body).to.include({ task_id: first.body.task_id, scope: 'jira:read jira:comment' });
        expect(grantIn(answer)).to.match(ROTATING);
        expect(grantIn(answer).split('.')[0]).to.equal(grant.split('.')[0]);
        grant = grantIn(answer);
        seen.add(grant);
      }
      expect(seen.size).to.equal(4);
    });

    it('is accepted once more after a lost answer, and an older one ends the task', async () => {
      const first = await redeemed(mandate, editor);
      const original = grantIn(first);
      const lost = grantIn(await refresh(original));
      // The answer was lost: the client has only the original one.
      const second = grantIn(await refresh(original));
      const third = await refresh(original);
      expect([third.status, grantIn(third)].join()).to.match(/^200,task_grant_/);
      expect(new Set([lost, second, grantIn(third)]).size).to.equal(3);
      const newest = await refresh(grantIn(third));
      expect(newest.status).to.equal(200);
      // The newest has been used: the one before may be lost, the one before that is stolen or was replaced.
      const [answer, lines] = await told(() => refresh(original));
      expect([answer.status, answer.body]).to.deep.equal([
        400,
        { error: 'invalid_grant', error_description: GRANT_SENTENCE, reason: 'grant_superseded' },
      ]);
      expect(fieldsOf(lines, 'event', 'reason', 'task_id', 'agent_id', 'sponsor', 'audience')).to.deep.equal(
        ['token.denied', 'task.revoked'].map((event) => [
          event,
          'grant_superseded',
          first.body.task_id,
          editor.id,
          'ada',
          JIRA,
        ]),
      );
      expect(await mandate.introspect(newest)).to.include({ active: false, revocation_reason: 'grant_superseded' });
      const ended = await refresh(grantIn(newest));
      expect(ended.body).to.deep.equal({
        error: 'invalid_grant',
        error_description: 'The task was revoked.',
        reason: 'task_revoked',
      });
    });

    it('that was replaced after a lost answer ends the task as well', async () => {
      const original = grantIn(await redeemed(mandate, editor));
      const lost = grantIn(await refresh(original));
      await refresh(original);
      expect((await refresh(lost)).body.reason).to.equal('grant_superseded');
    });

    it('ends the task if an older one is presented, whatever else is wrong with the request', async () => {
      for (const [form, change] of [
        [{ scope: 'jira:admin' }, {}],
        [{ resource: WIKI }, {}],
        [{}, { allowed_scopes: ['wiki:read'] }],
        [{}, { enabled: false }],
      ] as const) {
        const agent = await publicAgent(mandate);
        const first = await redeemed(mandate, agent);
        let grant = grantIn(first);
        for (let nth = 0; nth < 2; nth += 1) grant = grantIn(await publicRefresh(mandate, agent, grant));
        await mandate.admin('PATCH', `/admin/agents/${agent.id}`, change);
        const [answer, lines] = await told(() => publicRefresh(mandate, agent, grantIn(first), form));
        expect([answer.status, answer.body.error, answer.body.reason]).to.deep.equal([
          400,
          'invalid_grant',
          'grant_superseded',
        ]);
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
          ['token.denied', 'grant_superseded'],
          ['task.revoked', 'grant_superseded'],
        ]);
      }
    });

    it('does not rotate by a refresh that is refused', async () => {
      const grant = grantIn(await redeemed(mandate, editor));
      for (const [form, error] of [
        [{ scope: 'jira:admin' }, 'invalid_scope'],
        [{ resource: WIKI }, 'invalid_target'],
        [{ client_id: (await publicAgent(mandate)).id }, 'invalid_grant'],
        [{ client_secret: 'not-echoed' }, 'invalid_client'],
      ] as const) {
        expect((await refresh(grant, form)).body.error).to.equal(error);
      }
      const next = await refresh(grant);
      expect(next.status).to.equal(200);
      expect((await refresh(grantIn(next))).status).to.equal(200);
    });

    it('rotates too if the client shows a key later, and narrows like every grant', async () => {
      const both = await keyAgent(mandate, { public_client: true });
      const grant = grantIn(await redeemed(mandate, both));
      const narrowed = await both.refresh(grant, { scope: 'jira:read' });
      expect(narrowed.status, narrowed.text).to.equal(200);
      expect(grantIn(narrowed)).to.match(ROTATING);
      expect(grantIn(narrowed)).not.to.equal(grant);
      expect((await publicRefresh(mandate, both, grantIn(narrowed))).body.scope).to.equal('jira:read');
    });

    it('needs the key with which the code was redeemed', async () => {
      const both = await keyAgent(mandate, { public_client: true });
      const allowed = await allowedRequest(mandate, both.id);
      const first = await token(mandate, allowed.form(keyOf(both)));
      const grant = grantIn(first);
      const ways: readonly (() => Promise<Answer>)[] = [
        () => publicRefresh(mandate, both, grant),
        () => mandate.post('/oauth2/revoke', { token: grant, client_id: both.id }),
      ];
      for (const way of ways) {
        const [answer, lines] = await told(way);
        expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_client']);
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'task_id')).to.deep.equal([
          ['token.denied', 'client_not_public', both.id, 'ada', first.body.task_id],
        ]);
      }
      expect((await both.refresh(grant, { resource: undefined })).status).to.equal(200);
    });

    it('is unknown with a rotation that was never issued, without one, or with one that no grant has', async () => {
      const grant = grantIn(await redeemed(mandate, editor));
      const exchanged = String((await (await keyAgent(mandate)).exchange()).body.refresh_token);
      const [family = ''] = grant.split('.');
      const robot = await keyAgent(mandate);
      const its = await robot.grant();
      const made: readonly (() => Promise<Answer>)[] = [
        () => refresh(family),
        () => refresh('task_grant_x'),
        () => refresh('task_grant_x.y'),
        // Its family is right. No client was given the rest, so it shows no theft.
        () => refresh(`${family}.garbage`),
        () => refresh(`${grant}.${'A'.repeat(43)}`),
        () => refresh(exchanged),
        () => robot.refresh(`${its}.${'A'.repeat(43)}`),
      ];
      for (const [nth, present] of made.entries()) {
        const [answer, lines] = await told(present);
        expect([answer.status, answer.body]).to.deep.equal([
          400,
          { error: 'invalid_grant', error_description: GRANT_SENTENCE },
        ]);
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id')).to.deep.equal([
          ['token.denied', 'grant_not_found', nth === made.length - 1 ? robot.id : null],
        ]);
      }
      expect((await refresh(grant)).status).to.equal(200);
      expect((await robot.refresh(its)).status).to.equal(200);
    });

    it('of an ended task is an invalid_grant with its reason, while an exchanged task keeps access_denied', async () => {
      const { admin } = mandate;
      const ends: readonly (readonly [string, (agent: RegisteredAgent, sub: string) => Promise<Answer>])[] = [
        ['task_revoked', (_, sub) => admin('DELETE', `/admin/sponsors/${sub}/tasks`)],
        ['agent_disabled', (agent) => admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false })],
        ['task_revoked', (_, sub) => admin('PUT', `/admin/sponsors/${sub}/block`)],
      ];
      for (const [nth, [reason, end]] of ends.entries()) {
        for (const isPublic of [true, false]) {
          const agent = await (isPublic ? publicAgent : keyAgent)(mandate);
          const sub = `ended-${nth}-${agent.id}`;
          const { task_id: taskId, refresh_token: grant } = (
            await redeemed(mandate, agent, { sub }, isPublic ? {} : keyOf(agent))
          ).body;
          const exchanged = isPublic ? undefined : await agent.exchangeFor({ sub });
          expect((await end(agent, sub)).status).to.equal(200);
          const [answer, lines] = await told(() =>
            isPublic ? publicRefresh(mandate, agent, grant) : agent.refresh(String(grant)),
          );
          expect([answer.status, answer.body.error, answer.body.reason], answer.text).to.deep.equal([
            400,
            'invalid_grant',
            reason,
          ]);
          expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'task_id')).to.deep.equal([
            ['token.denied', reason, agent.id, sub, taskId],
          ]);
          if (exchanged === undefined) continue;
          const other = await agent.refresh(grantIn(exchanged));
          expect([other.status, other.body.error, other.body.reason]).to.deep.equal([400, 'access_denied', reason]);
        }
      }
    });

    it('of a person whom the provider has disabled is refused, with the reason; so is their code', async () => {
      const first = await redeemed(mandate, editor);
      const unspent = await allowedRequest(mandate, editor.id);
      const directory = await startUserDirectory(answering({ id: 'ada', username: 'ada', enabled: false }));
      try {
        await withService(mandate.another(directory.settings), async (polling) => {
          const [answer, lines] = await told(() => publicRefresh(polling, editor, grantIn(first)));
          expect([answer.status, answer.body.error, answer.body.reason], answer.text).to.deep.equal([
            400,
            'invalid_grant',
            'sponsor_disabled',
          ]);
          const [refused, records] = await told(() => token(polling, unspent.form()));
          expect([refused.status, refused.body.error, refused.body.reason], refused.text).to.deep.equal([
            400,
            'access_denied',
            'sponsor_disabled',
          ]);
          const record = ['token.denied', 'sponsor_disabled', editor.id, 'ada'];
          for (const of of [lines, records]) {
            expect(fieldsOf(of, 'event', 'reason', 'agent_id', 'sponsor')).to.deep.equal([record]);
          }
        });
      } finally {
        await directory.server.close();
      }
    });

    it('requires no resource, unlike that of an exchange', async () => {
      const robot = await keyAgent(mandate);
      const answer = await robot.refresh(await robot.grant(), { resource: undefined });
      expect(answer.body).to.deep.equal({
        error: 'invalid_request',
        error_description: 'The parameter resource is missing.',
      });
      expect((await refresh(grantIn(await redeemed(mandate, editor)), { resource: JIRA })).status).to.equal(200);
    });

    describe('and its revocation', () => {
      const revoke = (agent: RegisteredAgent, text: unknown) =>
        mandate.post('/oauth2/revoke', { token: String(text), client_id: agent.id });

      it('ends the task with each of its grants, by client_id alone', async () => {
        for (const nth of [0, 1]) {
          const first = await redeemed(mandate, editor);
          const next = await refresh(grantIn(first));
          const [answer, lines] = await told(() => revoke(editor, nth === 0 ? grantIn(next) : grantIn(first)));
          expect([answer.status, answer.text]).to.deep.equal([200, '']);
          expect(fieldsOf(lines, 'event', 'reason', 'task_id', 'agent_id')).to.deep.equal([
            ['task.revoked', 'client_revoked', first.body.task_id, editor.id],
          ]);
          expect(await mandate.introspect(first)).to.include({ revocation_reason: 'client_revoked' });
          // Twice is one revocation.
          expect((await revoke(editor, grantIn(next))).status).to.equal(200);
        }
      });

      it('revokes one token of its own task', async () => {
        const first = await redeemed(mandate, editor);
        const next = await refresh(grantIn(first));
        const [answer, lines] = await told(() => revoke(editor, first.body.access_token));
        expect([answer.status, answer.text]).to.deep.equal([200, '']);
        expect(fieldsOf(lines, 'event', 'agent_id', 'sponsor')).to.deep.equal([['token.revoked', editor.id, 'ada']]);
        expect(await mandate.introspect(first)).to.include({ active: false });
        expect(await mandate.introspect(next)).to.include({ active: true });
        const [again, none] = await told(() => revoke(editor, first.body.access_token));
        expect([again.status, none.length]).to.deep.equal([200, 0]);
      });

      it('is open to a program that is a web page of another origin, as browsers ask', async () => {
        const origin = 'http://127.0.0.1:6274';
        const browser = {
          origin,
          referer: `${origin}/`,
          accept: '*/*',
          'sec-fetch-mode': 'cors',
          'sec-fetch-site': 'cross-site',
        };
        const preflight = await mandate.send('/oauth2/revoke', {
          method: 'OPTIONS',
          headers: {
            ...browser,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type,mcp-protocol-version',
          },
        });
        expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).to.deep.equal([204, '*']);
        const sent = async (form: Readonly<Record<string, string>>) => {
          const answer = await mandate.send('/oauth2/revoke', {
            method: 'POST',
            headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
            body: new URLSearchParams(form).toString(),
          });
          expect([answer.headers.get('access-control-allow-origin')]).to.deep.equal(['*']);
          return answer;
        };
        const ended = ['task.revoked', 'client_revoked'];
        const revoked = ['token.revoked', 'client_revoked'];
        for (const [named, hint, record] of [
          ['refresh_token', { token_type_hint: 'refresh_token' }, ended],
          ['refresh_token', { token_type_hint: 'access_token' }, ended],
          ['refresh_token', {}, ended],
          ['access_token', { token_type_hint: 'access_token' }, revoked],
          ['access_token', { token_type_hint: 'refresh_token', client_secret: '' }, revoked],
        ] as const) {
          const first = await redeemed(mandate, editor);
          const form = { token: String(first.body[named]), client_id: editor.id, ...hint };
          const [answer, lines] = await told(() => sent(form as Readonly<Record<string, string>>));
          expect([answer.status, answer.text]).to.deep.equal([200, '']);
          expect(fieldsOf(lines, 'event', 'reason', 'task_id', 'agent_id', 'sponsor')).to.deep.equal([
            [...record, first.body.task_id, editor.id, 'ada'],
          ]);
          expect(await mandate.introspect(first)).to.include({ active: false });
        }
        // A script reads why it was refused.
        expect((await sent({ token: 'x', client_id: 'none' })).body.error).to.equal('invalid_client');
      });

      it('revokes nothing of another client, of an exchange or of a key, and names no agent', async () => {
        const both = await keyAgent(mandate, { public_client: true });
        const exchanged = await both.exchange();
        const own = await redeemed(mandate, editor);
        const made: readonly (readonly [RegisteredAgent, unknown])[] = [
          [both, own.body.refresh_token],
          [both, own.body.access_token],
          [both, exchanged.body.access_token],
          [editor, 'task_grant_x.y'],
          [editor, 'a.b.c'],
        ];
        for (const [agent, text] of made) {
          const [answer, lines] = await told(() => revoke(agent, text));
          expect([answer.status, answer.text]).to.deep.equal([200, '']);
          expect(fieldsOf(lines, 'event', 'reason', 'agent_id')).to.deep.equal([
            ['token.denied', 'revocation_not_owner', null],
          ]);
        }
        for (const answer of [exchanged, own]) expect(await mandate.introspect(answer)).to.include({ active: true });
        const robot = await keyAgent(mandate);
        expect((await revoke(robot, 'task_grant_x')).status).to.equal(401);
      });
    });
  });
}
