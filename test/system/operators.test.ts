/** Operators with names (`Service:Operators`): who may call what, and what the ledger then says about them. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { adminRoutes } from '../../adapters/http/admin/roles.ts';
import { type OperatorRole, operatorRoles } from '../../domain/operators/operator.ts';
import { repetitions } from '../contract/repetitions.ts';
import { runMandate } from '../support/cli-run.ts';
import { databases, type FreshDatabase } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import {
  ADMIN_KEY,
  type Answer,
  aRegistration,
  type LedgerLine,
  type Mandate,
  startMandate,
} from '../support/mandate.ts';
import { operations } from '../support/openapi/api-document.ts';
import {
  OPERATORS,
  OPERATORS_AUDIENCE,
  operatorToken,
  ROLE_VALUES,
  STOP_EVERYTHING,
  TWO_PERSONS,
} from '../support/operators.ts';
import { rawConnection } from '../support/raw-http.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { logKeySettings } from '../support/transparency-log.ts';

const WHY = 'The agent loops: incident 4711';
const RUNS = repetitions(5);

type Claims = Readonly<Record<string, unknown>>;

type Sent = {
  readonly body?: unknown;
  readonly reason?: string | undefined;
  readonly headers?: Record<string, string>;
};

/** Sends a request with this bearer token. */
function sendAs(mandate: Mandate, token: string, route: string, { body, reason, headers }: Sent = {}): Promise<Answer> {
  const [method = '', path = ''] = route.split(' ');
  return mandate.send(path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(reason === undefined ? {} : { 'mandate-reason': reason }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** An operator of one sub and these roles. Every change has a reason. */
function operator(mandate: Mandate, sub: string, ...roles: readonly (keyof typeof ROLE_VALUES)[]) {
  const token = operatorToken(mandate, { sub, roles: roles.map((role) => ROLE_VALUES[role]) });
  return (route: string, sent: Sent = {}) => sendAs(mandate, token, route, { reason: WHY, ...sent });
}

const detailOf = ({ detail }: LedgerLine) => Object.fromEntries(new URLSearchParams(String(detail)));
const isAct = ({ event }: LedgerLine) => event === 'operator.acted';
const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');

const guarded = operations.filter(({ scheme }) => scheme === 'adminKey');
const routeOf = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`;

/** The role that each route needs, as docs/operators.md says. A viewer's route is open to every role. */
const NEEDED: Readonly<Record<OperatorRole, readonly string[]>> = {
  viewer: [
    ...['GET /admin/agents', 'GET /admin/agents/{agent_id}', 'GET /admin/tasks', 'GET /admin/tasks/{task_id}'],
    ...['GET /admin/sponsors', 'GET /admin/sponsors/{sponsor_key}'],
  ],
  auditor: [
    ...['GET /audit', 'GET /audit/stream', 'GET /audit/checkpoints', 'GET /audit/records/{seq}/proof'],
    ...['GET /log/checkpoint', 'GET /log/keys', 'GET /log/tile/{level}/{index}', 'GET /admin/acts'],
  ],
  registrar: ['POST /admin/agents', 'PATCH /admin/agents/{agent_id}', 'DELETE /admin/agents/{agent_id}'],
  responder: [
    ...['DELETE /admin/tasks', 'DELETE /admin/tasks/{task_id}', 'DELETE /admin/agents/{agent_id}/tasks'],
    ...['DELETE /admin/sponsors/{sponsor_key}/tasks', 'PUT /admin/sponsors/{sponsor_key}/block'],
    'DELETE /admin/sponsors/{sponsor_key}/block',
  ],
};
const rolesOfRoutes = Object.fromEntries(
  operatorRoles.flatMap((role) => NEEDED[role].map((route) => [route, role] as const)),
);

describe('The table of routes and roles', () => {
  it('has each operation of the API document that takes the admin key', () => {
    expect(Object.keys(rolesOfRoutes)).to.have.members(guarded.map(routeOf));
  });

  it('is that of the service, and of the API document', () => {
    expect(adminRoutes).to.deep.equal(rolesOfRoutes);
    const documented = guarded.map((operation) => [routeOf(operation), operation.roles]);
    expect(Object.fromEntries(documented)).to.deep.equal(
      Object.fromEntries(Object.entries(rolesOfRoutes).map(([route, role]) => [route, [role]])),
    );
  });
});

for (const database of databases) {
  describe(`Operators with names on ${database.name}`, function () {
    this.timeout(60_000);
    let fresh: FreshDatabase;
    let mandate: Mandate;
    const key = sharedSigningKey();
    before(async () => {
      fresh = await database.fresh();
      mandate = await startMandate({
        database: { ...database, fresh: async () => fresh },
        settings: { ...key, ...TWO_PERSONS, ...STOP_EVERYTHING, ...logKeySettings() },
      });
      await mandate.untilReady();
    });
    after(() => mandate.stop());

    for (const [route, needed] of Object.entries(rolesOfRoutes)) {
      it(`open ${route} to the key, and to a person only with the role ${needed}, and record each refusal`, async () => {
        const filled = route.replace('{seq}', '1').replaceAll(/\{\w+\}/g, 'nobody');
        expect((await sendAs(mandate, ADMIN_KEY, filled)).status).not.to.be.oneOf([401, 403]);
        for (const role of [undefined, ...operatorRoles]) {
          const send = operator(mandate, `as-${role}`, ...(role === undefined ? [] : [role]));
          const isAllowed = role === needed || (needed === 'viewer' && role !== undefined);
          const records = await mandate.recorded(async () => {
            const { status } = await send(filled, route.startsWith('GET') ? { reason: undefined } : {});
            if (isAllowed) expect(status, `${role}`).not.to.be.oneOf([401, 403]);
            else expect(status, `${role}`).to.equal(403);
          });
          if (isAllowed) continue;
          expect(
            records.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor]),
          ).to.deep.equal([['admin.denied', 'deny', 'operator_role_missing', null]]);
          const [record] = records;
          const detail = { iss: mandate.provider.issuer, sub: `as-${role}`, act: route };
          expect(record && detailOf(record)).to.deep.equal(detail);
        }
      });
    }

    it('add up several roles, and act by the one that allows the route', async () => {
      const send = operator(mandate, 'olga', 'auditor', 'responder');
      expect((await send('GET /audit', { reason: undefined })).status).to.equal(200);
      const [act] = (await mandate.recorded(() => send('DELETE /admin/sponsors/nobody/tasks'))).filter(isAct);
      expect(act && detailOf(act).role).to.equal('responder');
    });

    it('end a task: the act follows the records that it explains, with a hash of the reason', async () => {
      const agent = await mandate.agent();
      const issued = await agent.exchange();
      const id = String(issued.body.task_id);
      const reason = encodeURIComponent('Ärger <b>&amp;</b> 100%');
      const records = await mandate.recorded(() =>
        operator(mandate, 'olga', 'responder')(`DELETE /admin/tasks/${id}`, { reason }),
      );
      expect(records.map(({ event }) => event)).to.deep.equal(['task.revoked', 'operator.acted']);
      const [revoked, act] = records as [LedgerLine, LedgerLine];
      expect(act).to.include({ decision: 'allow', reason: null, sponsor: null, agent_id: null, task_id: null });
      const { reason: hash, ...detail } = detailOf(act);
      expect(detail).to.deep.equal({
        iss: mandate.provider.issuer,
        sub: 'olga',
        role: 'responder',
        act: 'DELETE /admin/tasks/{task_id}',
        seq: String(revoked.seq),
      });
      const read = operator(mandate, 'audrey', 'auditor');
      for (const seq of [revoked.seq, act.seq]) {
        const { body } = await read(`GET /admin/acts?seq=${seq}`, { reason: undefined });
        expect(body.next_cursor).to.equal(null);
        const [listed, ...others] = body.acts as readonly Record<string, unknown>[];
        expect(others).to.deep.equal([]);
        const { salt, at, ...stored } = listed ?? {};
        expect(stored).to.deep.equal({
          ...detail,
          seq: act.seq,
          explains: revoked.seq,
          reason: 'Ärger <b>&amp;</b> 100%',
        });
        expect(at).to.match(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
        expect(hash).to.equal(sha256(`${salt}${stored.reason}`));
      }
      expect((await agent.refresh(String(issued.body.refresh_token))).status).to.equal(400);
    });

    it('explain every record of an act, and no record of another', async () => {
      const agent = await mandate.agent();
      for (const _ of [1, 2, 3]) await agent.grant();
      const before = await mandate.recorded(() => agent.grant());
      const records = await mandate.recorded(() =>
        operator(mandate, 'olga', 'responder')(`DELETE /admin/agents/${agent.id}/tasks`),
      );
      const after = await mandate.recorded(() => agent.exchange());
      const act = records.at(-1)?.seq;
      expect(records).to.have.length(5);
      const actsOf = async ({ seq }: LedgerLine) => {
        const { body } = await mandate.admin('GET', `/admin/acts?seq=${seq}`);
        return (body.acts as readonly Record<string, unknown>[]).map(({ seq: number }) => number);
      };
      for (const record of records) expect(await actsOf(record)).to.deep.equal([act]);
      for (const record of [...before, ...after]) expect(await actsOf(record)).to.deep.equal([]);
    });

    it('leave one record of each change, whatever it ended', async () => {
      const agent = await mandate.agent();
      await agent.grant();
      const registration = aRegistration({ agent_id: agent.id, jwks: agent.key.jwks });
      const all = operator(mandate, 'olga', 'registrar', 'responder');
      const cases: readonly (readonly [string, unknown, number, readonly string[]])[] = [
        ['POST /admin/agents', registration, 409, ['agent.registered']],
        ['POST /admin/agents', { ...registration, allowed_scopes: [' '] }, 400, []],
        ['POST /admin/agents', ['no object'], 400, []],
        ['PATCH /admin/agents/nobody', { enabled: false }, 404, []],
        ['PATCH /admin/agents/NO-ID', { enabled: false }, 404, []],
        [`PATCH /admin/agents/${agent.id}`, { enabled: 'no' }, 400, []],
        [`PATCH /admin/agents/${agent.id}`, { display_name: '' }, 400, []],
        [`PATCH /admin/agents/${agent.id}`, { display_name: 'Renamed' }, 200, ['agent.updated']],
        [`DELETE /admin/agents/${agent.id}`, undefined, 409, ['agent.deleted']],
        ['DELETE /admin/agents/nobody', undefined, 404, []],
        ['DELETE /admin/agents/nobody/tasks', undefined, 404, []],
        ['DELETE /admin/agents/NO-ID/tasks', undefined, 404, []],
        ['DELETE /admin/tasks/task_01M31S7W68TMK7WDX8YKPSYTEA', undefined, 404, []],
        ['DELETE /admin/tasks/none', undefined, 404, []],
        ['DELETE /admin/tasks?agent_id=nobody', undefined, 400, []],
        ['DELETE /admin/tasks', { agent_id: 'nobody' }, 400, []],
        ['DELETE /admin/sponsors/no%20key/tasks', undefined, 400, []],
        ['DELETE /admin/sponsors/without-tasks/tasks', undefined, 200, []],
        ['DELETE /admin/sponsors/not-blocked/block', undefined, 404, []],
        ['PUT /admin/sponsors/mallory/block', undefined, 200, ['sponsor.blocked']],
        ['PUT /admin/sponsors/mallory/block', undefined, 200, []],
      ];
      for (const [route, body, status, events] of cases) {
        const records = await mandate.recorded(async () =>
          expect((await all(route, { body })).status, route).to.equal(status),
        );
        expect(
          records.map(({ event }) => event),
          route,
        ).to.deep.equal([...events, 'operator.acted']);
        const act = records.at(-1) as LedgerLine;
        const explains = events.length === 0 ? null : records[0]?.seq;
        expect(detailOf(act).seq, route).to.equal(String(explains ?? ''));
        const { body: listed } = await mandate.admin('GET', `/admin/acts?seq=${act.seq}`);
        expect((listed.acts as readonly object[])[0], route).to.include({ seq: act.seq, explains });
      }
    });

    it('end all tasks of all people: the act explains the records of each task, and a repetition ends none', async () => {
      const [agent, other] = [await mandate.agent(), await mandate.agent()];
      const issued = [await agent.exchange(), await other.exchangeFor({ sub: 'grace' }), await other.exchange()];
      const send = operator(mandate, 'olga', 'responder');
      const route = 'DELETE /admin/tasks';
      const records = await mandate.recorded(async () => {
        const { status, body } = await send(route);
        expect(status).to.equal(200);
        expect(body.revoked_tasks).to.be.at.least(3);
      });
      const act = records.at(-1) as LedgerLine;
      expect(detailOf(act)).to.include({ sub: 'olga', role: 'responder', act: route, seq: String(records[0]?.seq) });
      const ended = records.filter(({ event }) => event === 'task.revoked');
      expect(ended.map(({ task_id }) => task_id)).to.include.members(issued.map(({ body }) => body.task_id));
      expect(new Set(ended.map(({ reason }) => reason))).to.deep.equal(new Set(['operator_kill_switch']));
      for (const { body } of issued) {
        const { active, revocation_reason } = await mandate.introspect(String(body.access_token));
        expect([active, revocation_reason]).to.deep.equal([false, 'operator_kill_switch']);
      }
      const again = await mandate.recorded(async () => {
        expect((await send(route)).body).to.deep.equal({ revoked_tasks: 0 });
      });
      expect(again.map(({ event }) => event)).to.deep.equal(['operator.acted']);
      expect((await agent.exchange()).status).to.equal(200);
    });

    it('end no task of all people without the setting, except by the key, and record each refusal', async () => {
      const replica = await mandate.another({ 'Service:Operators:StopEverything': '' });
      replica.clock.advance(mandate.clock.seconds() - replica.clock.seconds());
      const agent = await mandate.agent();
      const { body } = await agent.exchange();
      const records = await mandate.recorded(async () => {
        const answer = await operator(replica, 'olga', 'responder')('DELETE /admin/tasks');
        expect(answer.status).to.equal(403);
        expect(answer.body.detail).to.include('Service:Operators:StopEverything');
      });
      expect(records.map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal([
        ['admin.denied', 'deny', 'operator_role_missing'],
      ]);
      const [record] = records;
      expect(record && detailOf(record)).to.include({ sub: 'olga', act: 'DELETE /admin/tasks' });
      expect((await mandate.introspect(String(body.access_token))).active).to.equal(true);
      expect((await sendAs(replica, ADMIN_KEY, 'DELETE /admin/tasks')).body.revoked_tasks).to.be.at.least(1);
      expect((await mandate.introspect(String(body.access_token))).active).to.equal(false);
      await replica.stop();
    });

    it('record the admin key as key, without a name or a reason', async () => {
      const records = await mandate.recorded(() => mandate.admin('PUT', '/admin/sponsors/edith/block'));
      expect(records.map(({ event }) => event)).to.deep.equal(['sponsor.blocked', 'operator.acted']);
      const [blocked, act] = records as [LedgerLine, LedgerLine];
      expect(detailOf(act)).to.deep.equal({
        iss: '',
        sub: '',
        role: 'key',
        act: 'PUT /admin/sponsors/{sponsor_key}/block',
        seq: String(blocked.seq),
        reason: '',
      });
      const { body } = await mandate.admin('GET', `/admin/acts?seq=${act.seq}`);
      expect((body.acts as readonly object[])[0]).to.include({ role: 'key', reason: null, salt: null });
    });

    const unusable: readonly (readonly [string, Sent])[] = [
      ['is missing', { reason: undefined }],
      ['is too short', { reason: '  ab ' }],
      ['is too long', { reason: 'x'.repeat(201) }],
      ['has 2 UTF-16 code units', { reason: encodeURIComponent('😀') }],
      ['has 201 UTF-16 code units', { reason: encodeURIComponent(`${'😀'.repeat(100)}x`) }],
      ['is not percent-encoded', { reason: '100 % sure' }],
      ['is not UTF-8', { reason: 'abc%ff' }],
      ['is in another encoding', { reason: 'Ärger' }],
      ['has a control character', { reason: 'line%0Abreak' }],
    ];
    for (const [what, sent] of unusable) {
      it(`refuse a change whose reason ${what}, name the header, and change and record nothing`, async () => {
        const records = await mandate.recorded(async () => {
          const answer = await operator(mandate, 'olga', 'responder')('PUT /admin/sponsors/frank/block', sent);
          expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).to.deep.equal([
            400,
            'application/problem+json',
          ]);
          expect(Object.keys(answer.body.errors as object)).to.deep.equal(['Mandate-Reason']);
        });
        expect(records).to.deep.equal([]);
        expect(mandate.log.lines.join('\n')).to.include('reason_required');
      });
    }

    it('refuse a change with two reasons', async () => {
      const token = operatorToken(mandate, { roles: [ROLE_VALUES.responder] });
      const records = await mandate.recorded(async () => {
        const connection = await rawConnection(mandate.url);
        connection.send(
          `PUT /admin/sponsors/frank/block HTTP/1.1\r\nHost: mandate.test\r\nAuthorization: Bearer ${token}\r\n` +
            'Mandate-Reason: one reason\r\nMandate-Reason: another\r\nConnection: close\r\n\r\n',
        );
        expect(await connection.until('Must not be repeated.')).to.match(/^HTTP\/1\.1 400 /);
        connection.leave();
      });
      expect(records).to.deep.equal([]);
    });

    it('accept a reason of 3 and of 200 UTF-16 code units', async () => {
      const send = operator(mandate, 'olga', 'responder');
      for (const reason of ['abc', '😀x', 'x'.repeat(200), '😀'.repeat(100)]) {
        const answer = await send('DELETE /admin/sponsors/nobody/tasks', { reason: encodeURIComponent(reason) });
        expect(answer.status, reason).to.equal(200);
      }
    });

    const refused: readonly (readonly [string, Claims | ((mandate: Mandate) => Claims)])[] = [
      ['for another audience', { aud: 'https://mandate.example/other' }],
      ['without an audience', { aud: undefined }],
      ['that agents may hold as well', ({ provider }) => ({ aud: [OPERATORS_AUDIENCE, provider.audience] })],
      ['of a person, for agents', ({ provider }) => ({ aud: provider.audience })],
      ['of another issuer', { iss: 'https://elsewhere.example' }],
      ['that has expired', ({ clock }) => ({ exp: clock.seconds() - 61 })],
      ['without an expiry', { exp: undefined }],
      ['that is itself delegated', { act: { sub: 'agent:jira-triage' } }],
      ['of an agent', { sub: 'agent:jira-triage' }],
      ['of nobody', { sub: undefined }],
      ['that an application got for itself', { sub: 'pipeline', client_id: 'pipeline' }],
      ['whose grant had no user', { gty: ['client-credentials'] }],
    ];
    for (const [what, claims] of refused) {
      it(`refuse a token ${what} with 401, although it names every role`, async () => {
        const roles = Object.values(ROLE_VALUES);
        const token = operatorToken(mandate, { roles, ...(typeof claims === 'function' ? claims(mandate) : claims) });
        await mandate.jobs.closeWindows();
        mandate.clock.advance(120);
        const records = await mandate.recorded(async () => {
          const answer = await sendAs(mandate, token, 'GET /admin/agents');
          expect([answer.status, answer.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
          expect(answer.text).not.to.include(token.slice(-16));
        });
        expect(records.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor])).to.deep.equal(
          [['admin.denied', 'deny', 'invalid_api_key', null]],
        );
      });
    }

    it('refuse a token whose signature does not verify', async () => {
      const token = operatorToken(mandate, { roles: Object.values(ROLE_VALUES) });
      const forged = `${token.slice(0, -8)}${token.slice(-8) === 'AAAAAAAA' ? 'BBBBBBBB' : 'AAAAAAAA'}`;
      expect((await sendAs(mandate, forged, 'GET /admin/agents')).status).to.equal(401);
    });

    it('never make a sponsor of an operator by the token', async () => {
      const agent = await mandate.agent();
      const answer = await agent.exchange({
        subject_token: operatorToken(mandate, { roles: Object.values(ROLE_VALUES) }),
      });
      expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
      const last = (await mandate.ledger()).at(-1);
      expect(last).to.include({ event: 'token.denied', reason: 'subject_audience_mismatch' });
    });

    it('compare the values of the claim exactly, in a text or in a list of texts', async () => {
      for (const [roles, status] of [
        [ROLE_VALUES.viewer, 200],
        [[ROLE_VALUES.viewer, 'other'], 200],
        [ROLE_VALUES.viewer.toUpperCase(), 403],
        [`${ROLE_VALUES.viewer} ${ROLE_VALUES.auditor}`, 403],
        [[ROLE_VALUES.viewer, 7], 403],
        [{ [ROLE_VALUES.viewer]: true }, 403],
        [undefined, 403],
      ] as const) {
        const answer = await sendAs(mandate, operatorToken(mandate, { roles }), 'GET /admin/agents');
        expect(answer.status, JSON.stringify(roles)).to.equal(status);
      }
    });

    describe('of whom two lift a block', () => {
      const BLOCK = '/admin/sponsors/mallory/block';
      const lift = (sub: string) => operator(mandate, sub, 'responder')(`DELETE ${BLOCK}`);
      beforeEach(async () => {
        await mandate.admin('DELETE', BLOCK);
        await operator(mandate, 'olga', 'responder')(`PUT ${BLOCK}`);
      });

      it('wait for the second, different one, and record both acts', async () => {
        const records = await mandate.recorded(async () => {
          for (const _ of [1, 2]) {
            const first = await lift('olga');
            expect([first.status, first.body]).to.deep.equal([202, { pending: true }]);
          }
          expect((await lift('oscar')).status).to.equal(204);
        });
        // The summary of what earlier tests were refused names nobody, and its time may come meanwhile.
        const named = records.filter(({ event }) => event !== 'admin.denied');
        expect(named.map((line) => [line.event, isAct(line) ? detailOf(line).sub : line.reason])).to.deep.equal([
          ['operator.acted', 'olga'],
          ['operator.acted', 'olga'],
          ['sponsor.unblocked', 'operator_unblocked'],
          ['operator.acted', 'oscar'],
        ]);
        expect((await mandate.admin('GET', '/admin/sponsors/mallory')).status).to.equal(404);
      });

      it('wait for an hour, which asking again does not renew', async () => {
        expect((await lift('olga')).status).to.equal(202);
        mandate.clock.advance(1800);
        expect((await lift('olga')).status).to.equal(202);
        mandate.clock.advance(1800);
        expect((await lift('oscar')).status).to.equal(202);
        expect((await lift('olga')).status).to.equal(204);
      });

      it('begin anew after another block', async () => {
        expect((await lift('olga')).status).to.equal(202);
        await operator(mandate, 'oscar', 'responder')(`PUT ${BLOCK}`);
        expect((await lift('oscar')).status).to.equal(202);
      });

      it('are not needed with the admin key', async () => {
        expect((await lift('olga')).status).to.equal(202);
        expect((await mandate.admin('DELETE', BLOCK)).status).to.equal(204);
      });

      it('lift it once when they ask at the same time, on two replicas', async () => {
        const replica = await mandate.another({});
        await replica.untilReady();
        replica.clock.advance(mandate.clock.seconds() - replica.clock.seconds());
        for (let run = 0; run < RUNS; run += 1) {
          await mandate.admin('PUT', BLOCK);
          const records = await mandate.recorded(async () => {
            const answers = await Promise.all([
              lift('olga'),
              operator(replica, 'oscar', 'responder')(`DELETE ${BLOCK}`),
            ]);
            expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 204]);
          });
          expect(records.filter(({ event }) => event === 'sponsor.unblocked')).to.have.length(1);
          expect(records.filter(isAct)).to.have.length(2);
        }
        await replica.stop();
      });

      it('refuse the person who is blocked, who may block themselves', async () => {
        const own = operator(mandate, 'oskar', 'responder');
        expect((await own('PUT /admin/sponsors/oskar/block')).status).to.equal(200);
        const records = await mandate.recorded(async () => {
          const answer = await own('DELETE /admin/sponsors/oskar/block');
          expect([answer.status, answer.body.title]).to.deep.equal([403, 'Forbidden']);
        });
        expect(records.map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal([
          ['sponsor.unblocked', 'deny', 'operator_is_sponsor'],
          ['operator.acted', 'allow', null],
        ]);
        expect((await mandate.admin('GET', '/admin/sponsors/oskar')).status).to.equal(200);
        await mandate.admin('DELETE', '/admin/sponsors/oskar/block');
      });
    });

    it('list the acts of a person in pages, newest first, and refuse the cursor of another query', async () => {
      for (const path of ['one', 'two', 'three']) {
        await operator(mandate, 'paula', 'responder')(`DELETE /admin/sponsors/${path}/tasks`);
      }
      const pages: number[][] = [];
      let cursor = '';
      do {
        const { body } = await mandate.admin('GET', `/admin/acts?sub=paula&limit=2${cursor}`);
        pages.push((body.acts as readonly { seq: number }[]).map(({ seq }) => seq));
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
        if (cursor === '') break;
        const foreign = await mandate.admin('GET', `/admin/acts?sub=olga&limit=2${cursor}`);
        expect([foreign.status, Object.keys(foreign.body.errors as object)]).to.deep.equal([400, ['cursor']]);
        expect((await mandate.admin('GET', `/audit?limit=2${cursor}`)).status).to.equal(400);
      } while (cursor !== '');
      expect(pages.map((page) => page.length)).to.deep.equal([2, 1]);
      expect(pages.flat()).to.deep.equal(pages.flat().toSorted((one, other) => other - one));
    });

    it('name each wrong parameter of the list of acts', async () => {
      const { status, body } = await mandate.admin('GET', '/admin/acts?seq=x&sub=&limit=0&cursor=x&by=me');
      expect(status).to.equal(400);
      expect(Object.keys(body.errors as object)).to.have.members(['seq', 'sub', 'limit', 'cursor', 'by']);
    });

    it('have their reasons erased after the retention, and the ledger still verifies', async () => {
      await operator(mandate, 'olga', 'responder')('DELETE /admin/sponsors/nobody/tasks');
      mandate.clock.advance(7 * 86_400 - 60);
      await operator(mandate, 'rita', 'responder')('DELETE /admin/sponsors/nobody/tasks');
      mandate.clock.advance(61);
      await mandate.jobs.sweep();
      const reasonsOf = async (sub: string) => {
        const { body } = await mandate.admin('GET', `/admin/acts?sub=${sub}`);
        return (body.acts as readonly Record<string, unknown>[]).map(({ reason, salt }) => [reason, salt !== null]);
      };
      expect(new Set((await reasonsOf('olga')).map(String))).to.deep.equal(new Set([String([null, false])]));
      expect(await reasonsOf('rita')).to.deep.equal([[WHY, true]]);
      await mandate.jobs.seal();
      const { code, out } = await runMandate(['audit-verify'], { ...fresh.settings, ...key });
      expect([code, /The seal is intact/.test(out)], out).to.deep.equal([0, true]);
    });
  });

  describe(`Operators of their own identity provider on ${database.name}`, function () {
    this.timeout(60_000);

    it('are known by its tokens only, with roles in a member of a claim', async () => {
      const own = await startIdentityProvider();
      const mandate = await startMandate({
        database,
        settings: {
          ...OPERATORS,
          'Service:Operators:Issuer': own.issuer,
          'Service:Operators:RoleClaim': 'realm_access.roles',
        },
      });
      const claims = { realm_access: { roles: [ROLE_VALUES.viewer] }, roles: [ROLE_VALUES.auditor] };
      const { clock } = mandate;
      const statusOf = async (provider: typeof own, path: string, more: Claims = {}) =>
        (await sendAs(mandate, operatorToken({ provider, clock }, { ...claims, ...more }), `GET ${path}`)).status;
      expect(await statusOf(own, '/admin/agents')).to.equal(200);
      expect(await statusOf(own, '/audit')).to.equal(403);
      expect(await statusOf(own, '/admin/agents', { 'realm_access.roles': 'other' })).to.equal(403);
      expect(await statusOf(mandate.provider, '/admin/agents')).to.equal(401);
      await mandate.stop();
      await own.stop();
    });

    it('lift no block with a token whose claim by which blocks name people is absent or names nobody', async () => {
      const settings = { ...OPERATORS, 'Service:UpstreamIdp:SponsorKeyClaim': 'email' };
      const mandate = await startMandate({ database, settings });
      const block = '/admin/sponsors/olga@people.example/block';
      await mandate.admin('PUT', block);
      const lift = (email: unknown) => {
        const token = operatorToken(mandate, { email, roles: ROLE_VALUES.responder });
        return sendAs(mandate, token, `DELETE ${block}`, { reason: WHY });
      };
      const unusable = [undefined, '', 'two words', 'x'.repeat(257), ['oscar@people.example'], 'olga@people.example'];
      const records = await mandate.recorded(async () => {
        for (const email of unusable) expect((await lift(email)).status, String(email)).to.equal(403);
      });
      expect(records.map(({ event, decision, reason }) => [event, decision, reason])).to.deep.equal(
        unusable.flatMap(() => [
          ['sponsor.unblocked', 'deny', 'operator_is_sponsor'],
          ['operator.acted', 'allow', null],
        ]),
      );
      expect((await lift('oscar@people.example')).status).to.equal(204);
      await mandate.stop();
    });

    it('are one person if blocks name them alike, whatever their sub: two lifts by them are one', async () => {
      const settings = { ...TWO_PERSONS, 'Service:UpstreamIdp:SponsorKeyClaim': 'email' };
      const mandate = await startMandate({ database, settings });
      const block = '/admin/sponsors/mallory@people.example/block';
      await mandate.admin('PUT', block);
      const lift = async (sub: string, email: string) => {
        const token = operatorToken(mandate, { sub, email, roles: ROLE_VALUES.responder });
        return (await sendAs(mandate, token, `DELETE ${block}`, { reason: WHY })).status;
      };
      const records = await mandate.recorded(async () => {
        expect(await lift('olga-at-the-api', 'olga@people.example')).to.equal(202);
        expect(await lift('olga-in-the-console', 'olga@people.example')).to.equal(202);
      });
      expect(records.map(({ event }) => event)).to.deep.equal(['operator.acted', 'operator.acted']);
      expect(await lift('oscar-at-the-api', 'oscar@people.example')).to.equal(204);
      await mandate.stop();
    });

    it('get 503 while the keys of their provider cannot be fetched, and the admin key still opens', async () => {
      const own = await startIdentityProvider();
      await own.goDown();
      const settings = { ...OPERATORS, 'Service:Operators:Issuer': own.issuer };
      const mandate = await startMandate({ database, settings });
      const token = operatorToken({ provider: own, clock: mandate.clock }, { roles: ROLE_VALUES.viewer });
      const records = await mandate.recorded(async () => {
        const answer = await sendAs(mandate, token, 'GET /admin/agents');
        expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
        expect(answer.headers.get('retry-after')).to.equal('1');
      });
      expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([
        ['admin.denied', 'subject_keys_unavailable'],
      ]);
      expect((await mandate.admin('GET', '/admin/agents')).status).to.equal(200);
      await mandate.stop();
    });
  });

  describe(`A service whose only way in is the admin key, on ${database.name}`, function () {
    this.timeout(60_000);

    it('has no acts, no path for them, and takes no token', async () => {
      const mandate = await startMandate({ database });
      const records = await mandate.recorded(async () => {
        expect((await mandate.admin('PUT', '/admin/sponsors/mallory/block')).status).to.equal(200);
        expect((await mandate.admin('DELETE', '/admin/sponsors/mallory/block')).status).to.equal(204);
        expect((await mandate.admin('GET', '/admin/acts')).status).to.equal(404);
        const token = operatorToken(mandate, { roles: Object.values(ROLE_VALUES) });
        expect((await sendAs(mandate, token, 'GET /admin/agents')).status).to.equal(401);
      });
      expect(records.map(({ event, detail }) => [event, detail])).to.deep.equal([
        ['sponsor.blocked', undefined],
        ['sponsor.unblocked', undefined],
        ['admin.denied', undefined],
      ]);
      await mandate.stop();
    });
  });

  describe(`Operators without an admin key on ${database.name}`, function () {
    this.timeout(60_000);

    it('come in by their tokens alone, and their acts reach the sink', async () => {
      const sink = await startLoopback(answering({}));
      const settings = { ...OPERATORS, 'Service:Admin:ApiKey': '', 'Service:Audit:Sink:Url': sink.url };
      const mandate = await startMandate({ database, settings });
      await mandate.untilReady();
      expect(
        (await mandate.send('/admin/agents', { headers: { authorization: `Bearer ${ADMIN_KEY}` } })).status,
      ).to.equal(401);
      expect((await operator(mandate, 'olga', 'responder')('PUT /admin/sponsors/mallory/block')).status).to.equal(200);
      await mandate.jobs.drain();
      const sent = sink.received.flatMap(({ body }) => body.match(/"event":"[\w.]+"/g) ?? []);
      expect(sent).to.include('"event":"operator.acted"');
      await mandate.stop();
      await sink.close();
    });
  });
}
