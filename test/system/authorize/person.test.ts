/** The person at `/oauth2/authorize`: the sign-in, what the provider says of them, the page, and the one answer. */

import { expect } from 'chai';
import { makeAgentKey } from '../../support/agents/agent-key.ts';
import {
  authorizationRequest,
  CALLBACK,
  CHALLENGE,
  type DoorPerson,
  doorPerson,
  linkBack,
  publicAgent,
  STATE,
  startDoor,
  titleOf,
  toldClient,
  VERIFIER,
} from '../../support/authorize/door.ts';
import { databasesByLength } from '../../support/databases.ts';
import { ada, edsger, grace } from '../../support/identity-provider/people.ts';
import { passThePages } from '../../support/identity-provider/sign-in.ts';
import type { Handler } from '../../support/loopback.ts';
import { type Answer, fieldsOf, JIRA, type Mandate, withService } from '../../support/mandate.ts';
import type { PageWithProvider } from '../../support/me/person-browser.ts';

/** Of another request. */
const OTHERS_COOKIE = `__Host-mandate-authorize-AAAAAAAA=1700000000.${'A'.repeat(43)}`;

/** A provider that has no time. */
const silent: Handler = (_request, response) => {
  response.writeHead(503).end();
};

for (const database of databasesByLength) {
  describe(`The person at /oauth2/authorize on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agentId: string;
    before(async () => {
      const settings = { 'Service:Audit:Aggregation:Enabled': 'false', 'Service:Me:AskForName': 'true' };
      running = await startDoor(database, settings, { odd: {} });
      mandate = running.mandate;
      agentId = await publicAgent(mandate);
    });
    after(() => running.stop());
    afterEach(() => running.provider.misbehave({}));

    const asked = (changes: Record<string, string | undefined> = {}) => authorizationRequest(agentId, changes);
    const recordsOf = async <Result>(act: () => Promise<Result>) => {
      const done: Result[] = [];
      const lines = await mandate.recorded(async () => {
        done.push(await act());
      });
      const [answer] = done;
      if (answer === undefined) throw new Error('there was no answer');
      return { answer, lines, records: fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor') };
    };
    const anonymous = (reason: string) => [['authorization.denied', 'deny', reason, null, null]];
    /** A page whose only link tells the client. */
    const expectEnd = (answer: Answer, status: number, title: string, error: string) => {
      expect([answer.status, titleOf(answer)]).to.deep.equal([status, title]);
      const { error_description: _, ...told } = Object.fromEntries(linkBack(answer)?.searchParams ?? []);
      expect(told).to.deep.equal({ kept: '1', error, state: STATE, iss: mandate.issuer });
      expect(linkBack(answer)?.href).to.match(/^https:\/\/client\.example\/cb\?kept=1&/);
    };

    it('reads who asks, where, and for how long, and allows: the client gets a code, its state and the issuer', async () => {
      const person = doorPerson(mandate);
      const question = await person.question(asked());
      const { page, path } = question;
      expect(page.status).to.equal(200);
      expect(titleOf(page)).to.equal('May Ticket program act for you?');
      expect(path).to.match(/^\/oauth2\/authorize\/areq_[0-9A-Z]{26}$/);
      for (const shown of ['cannot prove its name', 'jira.example', 'client.example']) {
        expect(page.text).to.contain(shown);
      }
      expect(page.text.replace(/<[^>]*>/g, ''))
        .to.contain(`Signed in as ${ada.name}`)
        .and.contain(`The operators of this service find you as ${ada.username}.`);
      // Ada holds two of the three.
      expect([...page.text.matchAll(/name="scope" value="([^"]+)" checked/g)].map(([, scope]) => scope)).to.deep.equal([
        'jira:read',
        'jira:comment',
      ]);
      expect([...page.text.matchAll(/<option value="(\d+)"/g)].map(([, seconds]) => seconds)).to.deep.equal([
        '300',
        '900',
        '3600',
        '7200',
      ]);
      for (const hidden of [encodeURIComponent(STATE), STATE.replace('&', '&amp;'), CHALLENGE, 'mandate_code_']) {
        expect(page.text).not.to.contain(hidden);
      }
      expect(page.headers.get('content-security-policy'))
        .to.contain("default-src 'none'")
        .and.contain("frame-ancestors 'none'")
        // Chromium would check it on each redirect of the client's host, which may go on to a private scheme.
        .and.not.contain('form-action');
      expect(page.headers.get('cache-control')).to.equal('no-store');

      const { answer, lines, records } = await recordsOf(() =>
        question.answer('allow', { scope: 'jira:read', lasts: '900' }),
      );
      expect([answer.status, answer.text]).to.deep.equal([303, '']);
      const { code, ...told } = toldClient(answer);
      expect(told).to.deep.equal({ kept: '1', state: STATE, iss: mandate.issuer });
      expect(code).to.match(/^mandate_code_[A-Za-z0-9_-]{43}$/);
      expect(records).to.deep.equal([['authorization.allowed', 'allow', null, agentId, ada.username]]);
      const request = path.slice('/oauth2/authorize/'.length);
      expect(lines[0]).to.include({
        audience: JIRA,
        scope: 'jira:read',
        detail: `request=${request}&client=public`,
      });

      // The page that stays open, the back button, and a second answer.
      const again = await recordsOf(() => question.answer('refuse'));
      expect([again.answer.status, titleOf(again.answer)]).to.deep.equal([400, 'You have already allowed this']);
      expect(linkBack(again.answer)).to.equal(undefined);
      // It leads to the stop. It does not ask the person to begin again: their program goes on.
      expect(again.answer.text).to.contain('<a href="/me">').and.not.to.contain('You can close this page');
      expect(again.records).to.deep.equal([]);
      expect(titleOf(await person.open(path))).to.equal('You have already allowed this');
      // Neither the log nor the database has what was sent.
      const logged = JSON.stringify(mandate.log.lines);
      for (const secret of [code ?? '', STATE, CHALLENGE]) expect(logged).not.to.contain(secret);
      const rows = JSON.stringify(await mandate.sql('SELECT * FROM authorizations'));
      // Only the browser keeps the name.
      expect(rows)
        .not.to.contain(code ?? '')
        .and.not.contain(ada.name);
    });

    it('starts a task with what the person left: its code gives the client a token for that scope, until that end', async () => {
      const question = await doorPerson(mandate).question(asked());
      const { code } = toldClient(await question.answer('allow', { scope: 'jira:read', lasts: '900' }));
      const form = {
        grant_type: 'authorization_code',
        code,
        code_verifier: VERIFIER,
        redirect_uri: CALLBACK,
        client_id: agentId,
      };
      const token = await mandate.post('/oauth2/token', form);
      expect(token.body).to.include({ scope: 'jira:read', token_type: 'Bearer' });
      const active = await mandate.introspect(token);
      expect(active).to.include({ active: true, sub: ada.username, aud: JIRA, scope: 'jira:read' });
      const lasts = Date.parse(String(token.body.task_expires_at)) / 1000 - mandate.clock.seconds();
      expect(lasts).to.be.within(890, 900);
    });

    it('signs in once more, with a proof, where the sign-in must be newer than the request', async () => {
      // The provider's clock is the real one: more than a minute behind.
      mandate.clock.advance(90);
      try {
        const person = doorPerson(mandate);
        const first = await person.signIn(asked({ prompt: 'login' }));
        const again = await person.open(`${first.pathname}${first.search}`);
        const address = new URL(again.headers.get('location') ?? '');
        expect([again.status, address.searchParams.get('prompt')]).to.deep.equal([303, 'login']);
        const callback = `${mandate.issuer}/oauth2/authorize/callback`;
        const second = await passThePages(person.browser, address, ada, callback);
        const { answer, records } = await recordsOf(() => person.open(`${second.pathname}${second.search}`));
        expectEnd(answer, 403, 'You have not just signed in', 'access_denied');
        expect(records).to.deep.equal(anonymous('sign_in_too_old'));
      } finally {
        mandate.clock.advance(-90);
      }
    });

    it('accepts a new sign-in at a provider whose clock is behind by less than a minute', async () => {
      mandate.clock.advance(50);
      try {
        const { headers } = await doorPerson(mandate).comeBack(asked({ prompt: 'login' }));
        expect(headers.get('location')).to.contain('/areq_');
      } finally {
        mandate.clock.advance(-50);
      }
      expect((await doorPerson(mandate).comeBack(asked({ prompt: 'login' }))).headers.get('location')).to.contain(
        '/areq_',
      );
    });

    it('refuses: the client gets access_denied, and there is one record', async () => {
      const question = await doorPerson(mandate).question(asked());
      const { answer, records } = await recordsOf(() => question.answer('refuse'));
      expect(answer.status).to.equal(303);
      expect(toldClient(answer)).to.include({ error: 'access_denied', state: STATE, iss: mandate.issuer });
      expect(records).to.deep.equal([['authorization.refused', 'deny', 'consent_refused', agentId, ada.username]]);
      expect(titleOf(await question.answer('allow'))).to.equal('You have already refused this');
    });

    it('asks again if every scope was taken away, and takes no end that the page does not offer', async () => {
      const question = await doorPerson(mandate).question(asked());
      const { answer, records } = await recordsOf(() => question.answer('allow', { scope: [] }));
      expect([answer.status, titleOf(answer)]).to.deep.equal([400, 'May Ticket program act for you?']);
      expect(answer.text).to.contain('Choose at least one, or refuse.').and.not.contain(' checked>');
      // Enter in a field of a browser without script: the page again, with what was chosen.
      const look = await question.answer('allow', { answer: 'look', scope: 'jira:comment', lasts: '900' });
      expect([look.status, look.text.match(/value="[^"]+" (?:checked|selected)/g)]).to.deep.equal([
        200,
        ['value="jira:comment" checked', 'value="900" selected'],
      ]);
      for (const changes of [
        { lasts: '0' },
        // Shorter than any of the page: never raised to one.
        { lasts: '5' },
        { lasts: '-1' },
        { lasts: undefined },
        { answer: 'maybe' },
        { answer: ['allow', 'refuse'] },
      ]) {
        expect((await question.answer('allow', changes)).status).to.equal(400);
      }
      expect(records).to.deep.equal([]);
      // A scope that was not offered is none.
      expect(toldClient(await question.answer('allow', { scope: ['jira:read', 'jira:admin'] }))).to.have.property(
        'code',
      );
      const [row] = await mandate.sql(
        "SELECT chosen_scope FROM authorizations WHERE state = 'allowed' ORDER BY answered_at DESC LIMIT 1",
      );
      expect(row?.chosen_scope).to.equal('jira:read');
    });

    it('is not warned of a program that must show its key: no other one can use its name', async () => {
      const keyed = await publicAgent(mandate, { jwks: (await makeAgentKey()).jwks });
      const person = doorPerson(mandate);
      const { page, path } = await person.question(authorizationRequest(keyed));
      expect(page.text).to.contain('cannot prove its name');
      await withService(mandate.another({ 'Service:Authorize:PublicClients': 'false' }), async (strict) => {
        const shown = await strict.get(path, { cookie: person.cookies(), accept: 'text/html' });
        expect(titleOf(shown)).to.equal('May Ticket program act for you?');
        expect(shown.text).not.to.contain('cannot prove its name');
      });
    });

    it('answers in the browser that began it only, with the form of its own page', async () => {
      const mine = doorPerson(mandate);
      const question = await mine.question(asked());
      for (const cookie of ['', OTHERS_COOKIE]) {
        const headers = { cookie, accept: 'text/html' };
        const { answer, records } = await recordsOf(() => mandate.get(question.path, headers));
        expect([answer.status, titleOf(answer)]).to.deep.equal([400, 'This question is over']);
        expect(linkBack(answer)).to.equal(undefined);
        expect(records).to.deep.equal(anonymous('request_expired'));
      }
      const forged = await recordsOf(() => question.answer('allow', { form_token: 'x'.repeat(43) }));
      expect([forged.answer.status, titleOf(forged.answer)]).to.deep.equal([403, 'Nothing was changed']);
      expect(forged.records).to.deep.equal(anonymous('invalid_form_token'));
      expect(toldClient(await question.answer('allow'))).to.have.property('code');
    });

    it("is not finished in another browser: a victim cannot be led to an attacker's request", async () => {
      const attacker = doorPerson(mandate);
      const address = await attacker.signIn(asked());
      const victim = doorPerson(mandate);
      const path = `${address.pathname}${address.search}`;
      const { answer, records } = await recordsOf(() => victim.open(path));
      expect([answer.status, titleOf(answer)]).to.deep.equal([400, 'This question is over']);
      expect(records).to.deep.equal(anonymous('request_expired'));
      // Who only looks at the address uses nothing up.
      const cookie = attacker.cookies();
      const head = await mandate.send(path, { method: 'HEAD', headers: { cookie }, redirect: 'manual' });
      expect([head.status, head.headers.getSetCookie()]).to.deep.equal([200, []]);
      // The attacker can still finish it alone, once.
      expect((await attacker.open(path)).status).to.equal(303);
      expect((await attacker.open(path)).status).to.equal(400);
    });

    it('has two requests at once in one browser, and each answer goes to its own', async () => {
      const person = doorPerson(mandate);
      const [one, two] = [await person.signIn(asked({ state: 'one' })), await person.signIn(asked({ state: 'two' }))];
      const paths: string[] = [];
      for (const { pathname, search } of [two, one]) {
        paths.push((await person.open(`${pathname}${search}`)).headers.get('location') ?? '');
      }
      expect(new Set(paths).size).to.equal(2);
      for (const path of paths) expect((await person.open(path)).status).to.equal(200);
    });

    it('has the time of the setting, for the sign-in and the answer together', async () => {
      const person = doorPerson(mandate);
      const question = await person.question(asked());
      mandate.clock.advance(601);
      try {
        const late = await recordsOf(() => question.answer('allow'));
        expectEnd(late.answer, 400, 'This question is over', 'access_denied');
        expect(late.records).to.deep.equal([
          ['authorization.denied', 'deny', 'request_expired', agentId, ada.username],
        ]);
        expectEnd(await person.open(question.path), 400, 'This question is over', 'access_denied');
      } finally {
        mandate.clock.advance(-601);
      }
      // A request that says it begins in an hour has no longer time. Only the browser's owner could write that.
      const ahead = doorPerson(mandate);
      mandate.clock.advance(3600);
      const early = await ahead.signIn(asked());
      mandate.clock.advance(-3600);
      expect((await ahead.open(`${early.pathname}${early.search}`)).status).to.equal(303);
      const [row] = await mandate.sql('SELECT expires_at FROM authorizations ORDER BY request_id DESC LIMIT 1');
      // `seconds` leaves out the fraction of a second.
      // Postgres answers with a date, SQLite with microseconds.
      const scale = mandate.engine === 'sqlite' ? 1_000_000 : 1000;
      expect(Number(row?.expires_at) / scale - mandate.clock.seconds()).to.be.within(590, 601);
      const address = await person.signIn(asked());
      mandate.clock.advance(601);
      try {
        const { answer, records } = await recordsOf(() => person.open(`${address.pathname}${address.search}`));
        expectEnd(answer, 400, 'This question is over', 'access_denied');
        expect(records).to.deep.equal(anonymous('request_expired'));
      } finally {
        mandate.clock.advance(-601);
      }
    });

    it('must hold one of the scopes', async () => {
      const { answer, records } = await recordsOf(() => doorPerson(mandate, edsger).comeBack(asked()));
      expectEnd(answer, 403, 'You cannot give this agent anything', 'invalid_scope');
      expect(records).to.deep.equal([
        ['authorization.denied', 'deny', 'scope_intersection_empty', agentId, edsger.username],
      ]);
    });

    it('is not blocked, at the return and at the answer', async () => {
      const person: DoorPerson = doorPerson(mandate, grace);
      const question = await person.question(asked());
      expect((await mandate.admin('PUT', `/admin/sponsors/${grace.username}/block`)).status).to.equal(200);
      try {
        const allowed = await recordsOf(() => question.answer('allow'));
        expectEnd(allowed.answer, 400, 'This question has ended', 'access_denied');
        expect(allowed.records).to.deep.equal([
          ['authorization.denied', 'deny', 'request_expired', agentId, grace.username],
        ]);
        const { answer, records } = await recordsOf(() => doorPerson(mandate, grace).comeBack(asked()));
        expectEnd(answer, 403, 'Agents may not act for you', 'access_denied');
        expect(records).to.deep.equal([['authorization.denied', 'deny', 'sponsor_disabled', agentId, grace.username]]);
      } finally {
        await mandate.admin('DELETE', `/admin/sponsors/${grace.username}/block`);
      }
    });

    it('gets the reason if the agent was stopped, turned off, or lost its redirect URI on the way', async () => {
      const fresh = await publicAgent(mandate);
      const person = doorPerson(mandate);
      const query = authorizationRequest(fresh);
      const question = await person.question(query);
      const address = await person.signIn(query);
      expect((await mandate.admin('DELETE', `/admin/agents/${fresh}/tasks`)).status).to.equal(200);
      expectEnd(await question.answer('allow'), 400, 'This question has ended', 'access_denied');
      const stopped = await recordsOf(() => person.open(`${address.pathname}${address.search}`));
      expectEnd(stopped.answer, 400, 'This question has ended', 'access_denied');
      expect(stopped.records).to.deep.equal([['authorization.denied', 'deny', 'request_expired', fresh, ada.username]]);

      const [waiting, moved] = [await person.question(query), await person.signIn(query)];
      await mandate.admin('PATCH', `/admin/agents/${fresh}`, { redirect_uris: ['https://client.example/other'] });
      // No code and no error goes to an address that may be a stranger's by now.
      for (const kind of ['allow', 'refuse'] as const) {
        const gone = await recordsOf(() => waiting.answer(kind));
        expect([gone.answer.status, titleOf(gone.answer), linkBack(gone.answer)]).to.deep.equal([
          400,
          'The answer would go to an unknown address',
          undefined,
        ]);
        expect(gone.records).to.deep.equal([
          ['authorization.denied', 'deny', 'redirect_uri_not_registered', fresh, ada.username],
        ]);
      }
      const lost = await recordsOf(() => person.open(`${moved.pathname}${moved.search}`));
      expect([lost.answer.status, linkBack(lost.answer)]).to.deep.equal([400, undefined]);
      expect(lost.records).to.deep.equal(anonymous('redirect_uri_not_registered'));

      await mandate.admin('PATCH', `/admin/agents/${fresh}`, { redirect_uris: [CALLBACK] });
      const late = await person.signIn(query);
      await mandate.admin('PATCH', `/admin/agents/${fresh}`, { enabled: false });
      const off = await recordsOf(() => person.open(`${late.pathname}${late.search}`));
      expectEnd(off.answer, 403, 'This agent is turned off', 'access_denied');
      expect(off.records).to.deep.equal([['authorization.denied', 'deny', 'agent_disabled', fresh, ada.username]]);
    });

    it('comes with a usable access token, for the person who signed in', async () => {
      const token = 'The sign-in cannot be used for agents';
      for (const [oddities, status, title, error, reason] of [
        [{ opaqueAccessTokens: true }, 403, token, 'server_error', 'subject_malformed'],
        [{ accessClaims: { aud: 'https://other.example' } }, 403, token, 'server_error', 'subject_audience_mismatch'],
        [{ accessClaims: { aud: undefined } }, 403, token, 'server_error', 'subject_audience_mismatch'],
        [{ accessClaims: { exp: 1 } }, 403, token, 'server_error', 'subject_expired'],
        [
          { accessClaims: { sub: grace.username } },
          403,
          'Two people signed in',
          'access_denied',
          'sign_in_other_person',
        ],
        [
          { refusesMandate: 'invalid_client' },
          403,
          'Your organisation does not accept this service',
          'server_error',
          'client_refused',
        ],
        [
          { answers: { token: silent } },
          503,
          'The sign-in is not available',
          'temporarily_unavailable',
          'provider_unavailable',
        ],
      ] as const) {
        running.provider.misbehave(oddities);
        const { answer, records } = await recordsOf(() => doorPerson(mandate).comeBack(asked()));
        expectEnd(answer, status, title, error);
        expect(records).to.deep.equal(anonymous(reason));
      }
    });
  });
}
