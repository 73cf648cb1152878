/** A client redeems the code of a request that its person allowed (RFC 6749 §4.1.3; RFC 7636 §4.5). */

import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { instantFromSeconds } from '../../../domain/instant.ts';
import {
  type AllowedRequest,
  allowedRequest,
  REDIRECT,
  type RequestTerms,
} from '../../support/authorize/allowed-request.ts';
import { databasesByLength } from '../../support/databases.ts';
import {
  type Answer,
  type Form,
  fieldsOf,
  JIRA,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  WIKI,
  withService,
} from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { keyAgent, keyOf, publicAgent, redeemed, startDoor, token } from './clients.ts';

const CODE_SENTENCE = 'The authorization code is unknown, has expired, was used before, or belongs to another client.';
const NOT_PUBLIC = 'This client must authenticate with a key: a client_id alone is not accepted.';

/** Another character of the alphabet in this place. */
const altered = (text: string, at: number) =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;

for (const database of databasesByLength) {
  describe(`An authorization code on ${database.name}`, () => {
    let mandate: Mandate;
    let editor: RegisteredAgent;
    let robot: RegisteredAgent;
    before(async () => {
      mandate = await startDoor(database);
    });
    beforeEach(async () => {
      [editor, robot] = [await publicAgent(mandate), await keyAgent(mandate)];
    });
    after(() => mandate.stop());

    const allow = (agent: RegisteredAgent, terms: RequestTerms = {}) => allowedRequest(mandate, agent.id, terms);

    async function told(act: () => Promise<Answer>): Promise<[Answer, readonly LedgerLine[]]> {
      let answer: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        answer = await act();
      });
      if (answer === undefined) throw new Error('no answer');
      return [answer, lines];
    }

    describe('of a public client', () => {
      it('starts the task that the person allowed, with the answer and the records of an exchange', async () => {
        const allowed = await allow(editor, { purpose: 'Tidy the board' });
        const [answer, lines] = await told(() => token(mandate, allowed.form()));
        expect(answer.status, answer.text).to.equal(200);
        const exchanged = await robot.exchange();
        expect(Object.keys(answer.body)).to.deep.equal(Object.keys(exchanged.body));
        expect(answer.body).to.include({
          issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          token_type: 'Bearer',
          expires_in: 240,
          scope: 'jira:read jira:comment',
        });
        expect(answer.headers.get('cache-control')).to.equal('no-store');
        const claims = decodeJwt(String(answer.body.access_token));
        expect(Object.keys(claims)).to.deep.equal(Object.keys(decodeJwt(String(exchanged.body.access_token))));
        expect(claims).to.deep.include({ sub: 'ada', aud: JIRA, client_id: `agent:${editor.id}` });
        expect(await mandate.introspect(answer)).to.include({ active: true, task_id: answer.body.task_id });

        const { task_id: taskId } = answer.body;
        const detail = `request=${allowed.requestId}`;
        expect(
          fieldsOf(lines, 'event', 'task_id', 'agent_id', 'sponsor', 'audience', 'scope', 'decision'),
        ).to.deep.equal([
          ['token.issued', taskId, editor.id, 'ada', JIRA, 'jira:read jira:comment', 'allow'],
          ['purpose.stated', taskId, editor.id, 'ada', null, null, 'allow'],
          ['task.authorized', taskId, editor.id, 'ada', JIRA, 'jira:read jira:comment', 'allow'],
        ]);
        expect(lines[2]).to.include({ detail, jti: null });
        expect(lines[0]).not.to.have.property('detail');
      });

      it('ends the task when the person chose, and no later than the agent may act', async () => {
        for (const [endsIn, expected] of [
          [600, 600],
          [90_000, 1200],
        ] as const) {
          const now = mandate.clock.seconds();
          const { body } = await redeemed(mandate, editor, { endsIn });
          const lasts = Date.parse(String(body.task_expires_at)) / 1000 - now;
          expect(lasts).to.be.within(expected - 1, expected + 10);
        }
      });

      it('gives no scope that the person unticked, that they do not hold, or that the agent lost meanwhile', async () => {
        const chosen = await redeemed(mandate, editor, { chosen: ['jira:comment'] });
        expect(chosen.body.scope).to.equal('jira:comment');
        const allowed = await allow(editor);
        await mandate.admin('PATCH', `/admin/agents/${editor.id}`, { allowed_scopes: ['jira:comment', 'wiki:read'] });
        expect((await token(mandate, allowed.form())).body.scope).to.equal('jira:comment');
        const other = await allow(editor);
        await mandate.admin('PATCH', `/admin/agents/${editor.id}`, { allowed_scopes: ['wiki:read'] });
        const [answer, lines] = await told(() => token(mandate, other.form()));
        expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_scope']);
        expect(fieldsOf(lines, 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
          ['scope_intersection_empty', editor.id, 'ada', `request=${other.requestId}`],
        ]);
      });

      it('needs no redirect_uri, and may name the resource of the request', async () => {
        await redeemed(mandate, editor, {}, { redirect_uri: undefined, resource: JIRA });
      });
    });

    describe('of an agent with keys', () => {
      it('is redeemed with its assertion, and the grant does not rotate', async () => {
        const allowed = await allow(robot);
        const form = allowed.form({ ...keyOf(robot), client_id: robot.id });
        const answer = await token(mandate, form);
        expect(answer.status, answer.text).to.equal(200);
        const grant = String(answer.body.refresh_token);
        expect(grant).to.match(/^task_grant_[A-Za-z0-9_-]{43}$/);
        expect((await robot.refresh(grant)).body.refresh_token).to.equal(grant);
        // The assertion is used up.
        expect((await token(mandate, form)).body.error).to.equal('invalid_client');
        expect(await mandate.introspect(answer)).to.include({ active: true });
      });

      it('is not redeemed by its client_id alone, and stays', async () => {
        const allowed = await allow(robot);
        const [answer, lines] = await told(() => token(mandate, allowed.form()));
        expect([answer.status, answer.body]).to.deep.equal([
          401,
          { error: 'invalid_client', error_description: NOT_PUBLIC },
        ]);
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'decision')).to.deep.equal([
          ['token.denied', 'client_not_public', null, null, 'deny'],
        ]);
        const unknown = await token(mandate, allowed.form({ client_id: 'nobody-knows-it' }));
        expect([unknown.status, unknown.body]).to.deep.equal([answer.status, answer.body]);
        expect((await token(mandate, allowed.form(keyOf(robot)))).status).to.equal(200);
      });
    });

    /** What does not fit leaves the code: its client can still redeem it. */
    const leaving: readonly (readonly [
      what: string,
      reason: string,
      error: string,
      form: (allowed: AllowedRequest, other: AllowedRequest) => Form,
    ])[] = [
      [
        'with another redirect_uri',
        'redirect_uri_not_registered',
        'invalid_grant',
        () => ({ redirect_uri: `${REDIRECT}/` }),
      ],
      [
        'with another port of the redirect_uri',
        'redirect_uri_not_registered',
        'invalid_grant',
        () => ({ redirect_uri: REDIRECT.replace('33418', '33419') }),
      ],
      [
        'with a verifier that has one wrong character',
        'code_verifier_mismatch',
        'invalid_grant',
        (allowed) => ({ code_verifier: altered(String(allowed.form().code_verifier), 20) }),
      ],
      [
        'with a verifier that has a character of no verifier',
        'code_verifier_mismatch',
        'invalid_grant',
        (allowed) => ({ code_verifier: `${String(allowed.form().code_verifier).slice(1)}+` }),
      ],
      [
        'with the verifier of another request',
        'code_verifier_mismatch',
        'invalid_grant',
        (_, other) => ({ code_verifier: other.form().code_verifier }),
      ],
      [
        'with a verifier of 42 characters',
        'code_verifier_mismatch',
        'invalid_grant',
        () => ({ code_verifier: 'a'.repeat(42) }),
      ],
    ];
    for (const [what, reason, error, form] of leaving) {
      it(`is refused and recorded as ${reason} ${what}, and stays`, async () => {
        const [allowed, other] = [await allow(editor), await allow(editor, { sub: 'grace' })];
        const [answer, lines] = await told(() => token(mandate, allowed.form(form(allowed, other))));
        expect([answer.status, answer.body.error], answer.text).to.deep.equal([400, error]);
        expect(answer.body).to.have.all.keys('error', 'error_description');
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]).to.include({
          event: 'token.denied',
          reason,
          agent_id: editor.id,
          sponsor: 'ada',
          audience: JIRA,
          scope: 'jira:read jira:comment',
          task_id: null,
          detail: `request=${allowed.requestId}`,
        });
        expect((await token(mandate, allowed.form())).status).to.equal(200);
      });
    }

    it('that was never issued, or of another client, is code_unknown, names no public client, and stays', async () => {
      const other = await publicAgent(mandate);
      const allowed = await allow(editor);
      const attempts: readonly (readonly [Form, agentId: string | null])[] = [
        [allowed.form({ code: `${String(allowed.form().code)}A` }), null],
        [allowed.form({ code: 'mandate_code_' }), null],
        [allowed.form({ client_id: other.id }), null],
        [allowed.form(keyOf(robot)), robot.id],
      ];
      for (const [form, agentId] of attempts) {
        const [answer, lines] = await told(() => token(mandate, form));
        expect([answer.status, answer.body]).to.deep.equal([
          400,
          { error: 'invalid_grant', error_description: CODE_SENTENCE },
        ]);
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor')).to.deep.equal([
          ['token.denied', 'code_unknown', agentId, null],
        ]);
      }
      expect((await token(mandate, allowed.form())).status).to.equal(200);
    });

    it('is malformed without a parameter that the redemption needs, and with one twice', async () => {
      const form = (await allow(editor)).form();
      for (const [name, sentence] of [
        ['code', 'The parameter code is missing.'],
        ['code_verifier', 'The parameter code_verifier is missing.'],
      ] as const) {
        const [answer, lines] = await told(() => token(mandate, { ...form, [name]: undefined }));
        expect(answer.body).to.deep.equal({ error: 'invalid_request', error_description: sentence });
        expect(fieldsOf(lines, 'reason', 'agent_id')).to.deep.equal([['invalid_request', null]]);
      }
      for (const name of ['code', 'code_verifier', 'redirect_uri']) {
        const body = `${new URLSearchParams(form as Record<string, string>)}&${name}=x`;
        const headers = { 'content-type': 'application/x-www-form-urlencoded' };
        const answer = await mandate.send('/oauth2/token', { method: 'POST', body, headers });
        expect(answer.body.error_description).to.equal(`The parameter ${name} is repeated.`);
      }
      expect((await token(mandate, form)).status).to.equal(200);
    });

    it('that was used before ends its task, if its own client presents it with the right verifier', async () => {
      for (const agent of [editor, robot]) {
        const allowed = await allow(agent);
        const present = () => token(mandate, allowed.form(agent === robot ? keyOf(robot) : {}));
        const first = await present();
        expect(first.status, first.text).to.equal(200);
        const [answer, lines] = await told(present);
        expect([answer.status, answer.body]).to.deep.equal([
          400,
          { error: 'invalid_grant', error_description: CODE_SENTENCE },
        ]);
        const { task_id: taskId } = first.body;
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
          ['token.denied', 'code_replayed', agent.id, 'ada', `request=${allowed.requestId}`],
          ['task.revoked', 'code_replayed', agent.id, 'ada', undefined],
        ]);
        expect(lines[1]).to.include({ task_id: taskId });
        expect(await mandate.introspect(first)).to.include({ active: false, revocation_reason: 'code_replayed' });
        // Once more ends nothing further.
        const [again, more] = await told(present);
        expect(again.body.error).to.equal('invalid_grant');
        expect(fieldsOf(more, 'event', 'reason')).to.deep.equal([['token.denied', 'code_replayed']]);
      }
    });

    it('that was used before ends nothing, if another client presents it or the verifier is wrong', async () => {
      const other = await publicAgent(mandate);
      const allowed = await allow(editor);
      const first = await token(mandate, allowed.form());
      for (const [form, reason] of [
        [allowed.form({ client_id: other.id }), 'code_unknown'],
        [allowed.form(keyOf(robot)), 'code_unknown'],
        [allowed.form({ code_verifier: 'A'.repeat(43) }), 'code_verifier_mismatch'],
      ] as const) {
        const [answer, lines] = await told(() => token(mandate, form));
        expect(answer.body.error).to.equal('invalid_grant');
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', reason]]);
      }
      expect(await mandate.introspect(first)).to.include({ active: true });
    });

    it('that is presented twice at once opens one task, which then ends', async () => {
      const allowed = await allow(editor);
      const answers = await Promise.all([1, 2].map(() => token(mandate, allowed.form())));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 400]);
      const [opened] = answers.filter(({ status }) => status === 200);
      expect(opened && (await mandate.introspect(opened))).to.include({ revocation_reason: 'code_replayed' });
    });

    it('is spent by a refusal of the policy: presented again it is code_replayed, and ends nothing', async () => {
      const { admin } = mandate;
      const refused: readonly (readonly [string, string, Form, (agent: RegisteredAgent) => Promise<Answer>])[] = [
        [
          'audience_mismatch',
          'invalid_target',
          { resource: WIKI },
          (agent) => admin('GET', `/admin/agents/${agent.id}`),
        ],
        [
          'scope_intersection_empty',
          'invalid_scope',
          {},
          (agent) => admin('PATCH', `/admin/agents/${agent.id}`, { allowed_scopes: ['wiki:read'] }),
        ],
      ];
      for (const [reason, error, form, act] of refused) {
        const agent = await publicAgent(mandate);
        const allowed = await allow(agent);
        expect((await act(agent)).status).to.equal(200);
        const [answer, lines] = await told(() => token(mandate, allowed.form(form)));
        expect([answer.status, answer.body.error], answer.text).to.deep.equal([400, error]);
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', reason]]);
        const [again, more] = await told(() => token(mandate, allowed.form()));
        expect([again.status, again.body.error], again.text).to.deep.equal([400, 'invalid_grant']);
        expect(fieldsOf(more, 'event', 'reason', 'agent_id', 'sponsor')).to.deep.equal([
          ['token.denied', 'code_replayed', agent.id, 'ada'],
        ]);
        // No task keeps the row, so its time is up as that of any other.
        const rows = await mandate.sql(
          `SELECT state FROM authorizations WHERE request_id = '${allowed.requestId}' AND forget_at IS NOT NULL`,
        );
        expect(rows).to.deep.equal([{ state: 'spent' }]);
      }
    });

    it('starts no task once something ended it, and the record says what', async () => {
      const { admin } = mandate;
      const ends: readonly (readonly [string, (agent: RegisteredAgent, sub: string) => Promise<Answer>])[] = [
        ['operator_kill_switch', (_, sub) => admin('DELETE', `/admin/sponsors/${sub}/tasks`)],
        ['operator_kill_switch', (agent) => admin('DELETE', `/admin/agents/${agent.id}/tasks`)],
        ['sponsor_blocked', (_, sub) => admin('PUT', `/admin/sponsors/${sub}/block`)],
        ['agent_disabled', (agent) => admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false })],
      ];
      for (const [nth, [ended, end]] of ends.entries()) {
        const [agent, sub] = [await publicAgent(mandate), `person-${nth}`];
        const allowed = await allow(agent, { sub });
        expect((await end(agent, sub)).status).to.equal(200);
        const [answer, lines] = await told(() => token(mandate, allowed.form()));
        expect([answer.status, answer.body]).to.deep.equal([
          400,
          { error: 'invalid_grant', error_description: CODE_SENTENCE },
        ]);
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
          ['token.denied', 'code_expired', agent.id, sub, `request=${allowed.requestId}&ended=${ended}`],
        ]);
      }
    });

    it('starts no task of a disabled agent with keys, nor for a redirect or an audience that the agent lost', async () => {
      const cases: readonly (readonly [Record<string, unknown>, error: string, reason: string])[] = [
        [{ redirect_uris: ['https://editor.example/callback'] }, 'invalid_grant', 'redirect_uri_not_registered'],
        [{ allowed_audiences: [WIKI] }, 'invalid_target', 'audience_not_allowed'],
      ];
      for (const [changes, error, reason] of cases) {
        const agent = await publicAgent(mandate);
        const allowed = await allow(agent);
        await mandate.admin('PATCH', `/admin/agents/${agent.id}`, changes);
        const [answer, lines] = await told(() => token(mandate, allowed.form()));
        expect([answer.status, answer.body.error]).to.deep.equal([400, error]);
        expect(fieldsOf(lines, 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
          [reason, agent.id, 'ada', `request=${allowed.requestId}`],
        ]);
      }
      const allowed = await allow(robot);
      await mandate.admin('PATCH', `/admin/agents/${robot.id}`, { enabled: false });
      // Enabled again: the code is gone all the same.
      await mandate.admin('PATCH', `/admin/agents/${robot.id}`, { enabled: true });
      expect((await token(mandate, allowed.form(keyOf(robot)))).body.error).to.equal('invalid_grant');
    });

    it('of a person who has logged out since starts no task under RefuseLoggedOut', async () => {
      const settings = {
        'Service:UpstreamIdp:BackchannelLogout:Audience': mandate.provider.clientId,
        'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut': 'true',
      };
      await withService(mandate.another(settings), async (refusing) => {
        const [sub, sessionId] = ['logged-out', 'session-1'];
        const [of, other] = [
          await allow(editor, { sub, sessionId }),
          await allow(editor, { sub, sessionId: 'session-2' }),
        ];
        const now = mandate.clock.seconds();
        const logout = mandate.provider.signLogoutToken({ sub, sid: sessionId, iat: now, exp: now + 60 });
        expect((await refusing.post('/backchannel-logout', { logout_token: logout })).status).to.equal(200);
        const [answer, lines] = await told(() => token(refusing, of.form()));
        expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
        expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
          ['token.denied', 'code_expired', editor.id, sub, `request=${of.requestId}&ended=sponsor_logged_out`],
        ]);
        expect((await token(refusing, other.form())).status).to.equal(200);
        // A token from before the logout, whose request was kept at an instance that did not know of it.
        const late = await allow(editor, { sub, sessionId, issuedAt: instantFromSeconds(now - 60) });
        const [refused, records] = await told(() => token(refusing, late.form()));
        expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_grant']);
        expect(fieldsOf(records, 'event', 'reason', 'sponsor')).to.deep.equal([
          ['token.denied', 'subject_logged_out', sub],
        ]);
      });
    });

    it('starts no task that would end within five seconds', async () => {
      const allowed = await allow(editor, { endsIn: 3 });
      const [answer, lines] = await told(() => token(mandate, allowed.form()));
      expect([answer.status, answer.body.error, answer.body.reason]).to.deep.equal([
        400,
        'access_denied',
        'task_ending',
      ]);
      expect(fieldsOf(lines, 'reason', 'agent_id', 'sponsor')).to.deep.equal([['task_ending', editor.id, 'ada']]);
    });

    it('names no client beside a credential that the service does not read', async () => {
      const allowed = await allow(editor);
      const basic = { authorization: `Basic ${btoa(`${editor.id}:`)}` };
      for (const answer of [
        await mandate.post('/oauth2/token', allowed.form({ client_secret: 'not-echoed' })),
        await mandate.post('/oauth2/token', allowed.form(), basic),
        await mandate.post('/oauth2/token', allowed.form({ client_id: undefined }), basic),
        await mandate.post('/oauth2/token', allowed.form({ client_id: undefined })),
      ]) {
        expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_client']);
      }
      expect((await token(mandate, allowed.form())).status).to.equal(200);
    });

    it('is redeemed at another instance, and after a restart with another signing key, which signs the token', async () => {
      const [one, two] = [await allow(editor), await allow(robot)];
      await withService(mandate.another({}), async (replica) => {
        expect((await token(replica, one.form())).status).to.equal(200);
      });
      await withService(mandate.another(sharedSigningKey()), async (rotated) => {
        const answer = await token(rotated, two.form(keyOf(robot)));
        expect(answer.status, answer.text).to.equal(200);
        const published = (await rotated.get('/.well-known/jwks.json')).body.keys as readonly { kid: string }[];
        const { kid } = decodeProtectedHeader(String(answer.body.access_token));
        const before = await mandate.get('/.well-known/jwks.json');
        expect(published.map((key) => key.kid)).to.include(kid);
        expect(before.text).not.to.include(String(kid));
        expect((await token(rotated, one.form())).body.error).to.equal('invalid_grant');
      });
    });
  });

  describe(`An authorization code in time on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startDoor(database);
    });
    after(() => mandate.stop());

    it('expires, and ends the task of an earlier redemption also later', async () => {
      const editor = await publicAgent(mandate);
      const [unused, used] = [
        await allowedRequest(mandate, editor.id, { codeTtl: 60 }),
        await allowedRequest(mandate, editor.id, { codeTtl: 60 }),
      ];
      const first = await token(mandate, used.form());
      mandate.clock.advance(60);
      const lines = await mandate.recorded(async () => {
        const answer = await token(mandate, unused.form());
        expect([answer.status, answer.body]).to.deep.equal([
          400,
          { error: 'invalid_grant', error_description: CODE_SENTENCE },
        ]);
      });
      expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
        ['token.denied', 'code_expired', editor.id, 'ada', `request=${unused.requestId}`],
      ]);
      expect((await token(mandate, used.form())).body.error).to.equal('invalid_grant');
      expect(await mandate.introspect(first)).to.include({ revocation_reason: 'code_replayed' });
    });

    it('is refused where only keys authenticate, and is unknown without the door', async () => {
      const [editor, robot] = [await publicAgent(mandate), await keyAgent(mandate)];
      const [one, two] = [await allowedRequest(mandate, editor.id), await allowedRequest(mandate, robot.id)];
      await withService(mandate.another({ 'Service:Authorize:PublicClients': 'false' }), async (keysOnly) => {
        const answer = await token(keysOnly, one.form());
        expect([answer.status, answer.body.error_description]).to.deep.equal([401, NOT_PUBLIC]);
        expect((await token(keysOnly, two.form(keyOf(robot)))).status).to.equal(200);
      });
    });
  });
}
