/** The request of a client at `/oauth2/authorize`: what is answered on a page, and what goes to the client. */

import { expect } from 'chai';
import {
  authorizationRequest,
  CALLBACK,
  CHALLENGE,
  linkBack,
  publicAgent,
  STATE,
  startDoor,
  titleOf,
  toldClient,
} from '../../support/authorize/door.ts';
import { databasesByLength } from '../../support/databases.ts';
import { type Answer, fieldsOf, JIRA, type Mandate, WIKI } from '../../support/mandate.ts';
import type { PageWithProvider } from '../../support/me/person-browser.ts';

for (const database of databasesByLength) {
  describe(`A request at /oauth2/authorize on ${database.name}`, function () {
    this.timeout(60_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agentId: string;
    before(async () => {
      // Each refusal has its own record.
      running = await startDoor(database, { 'Service:Audit:Aggregation:Enabled': 'false' });
      mandate = running.mandate;
      agentId = await publicAgent(mandate);
    });
    after(() => running.stop());

    const begin = (query: string) => mandate.get(`/oauth2/authorize?${query}`);
    const asked = (changes: Record<string, string | undefined> = {}) => authorizationRequest(agentId, changes);
    const recordsOf = async (act: () => Promise<Answer>) => {
      let answer: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        answer = await act();
      });
      if (answer === undefined) throw new Error('there was no answer');
      return { answer, records: fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor') };
    };
    const denied = (reason: string) => [['authorization.denied', 'deny', reason, null, null]];
    const expectPage = (answer: Answer, title: string) => {
      expect([answer.status, titleOf(answer)]).to.deep.equal([400, title]);
      expect(answer.headers.get('location')).to.equal(null);
      expect(answer.headers.get('cache-control')).to.equal('no-store');
      expect(answer.headers.getSetCookie()).to.deep.equal([]);
      expect(linkBack(answer)).to.equal(undefined);
      expect(answer.text).not.to.contain('client.example').and.not.contain('client state');
    };

    it('sends the browser to the provider, with the scopes of the agent, and stores nothing', async () => {
      const { answer, records } = await recordsOf(() => begin(asked()));
      expect(answer.status).to.equal(303);
      const address = new URL(answer.headers.get('location') ?? '');
      expect(address.origin).to.equal(new URL(running.provider.issuer).origin);
      expect(Object.fromEntries(address.searchParams)).to.include({
        client_id: 'mandate-authorize',
        redirect_uri: `${mandate.issuer}/oauth2/authorize/callback`,
        scope: 'openid jira:read jira:comment jira:admin',
        code_challenge_method: 'S256',
      });
      // The client's own values stay in the browser.
      expect(address.href).not.to.contain(CHALLENGE).and.not.contain(encodeURIComponent(STATE));
      expect(answer.headers.getSetCookie()).to.have.length(1);
      expect(answer.headers.getSetCookie()[0]).not.to.contain(agentId);
      expect(records).to.deep.equal([]);
      expect(await mandate.sql('SELECT request_id FROM authorizations')).to.deep.equal([]);
    });

    it('is the same as a form, and HEAD begins nothing', async () => {
      // Another site's form comes without cookies. So it sets none, and the browser comes again with those that it has.
      const post = (query: string) => mandate.post('/oauth2/authorize', Object.fromEntries(new URLSearchParams(query)));
      const posted = await post(asked());
      expect([posted.status, posted.headers.getSetCookie()]).to.deep.equal([303, []]);
      const again = await mandate.get(posted.headers.get('location') ?? '');
      expect(new URL(again.headers.get('location') ?? '').origin).to.equal(new URL(running.provider.issuer).origin);
      // With a fault, or too long for an address, it is answered at once.
      for (const changes of [{ response_type: 'token' }, { state: 'ü'.repeat(1024), purpose: 'ü'.repeat(300) }]) {
        const { answer, records } = await recordsOf(() => post(asked(changes)));
        expect([answer.status, answer.headers.getSetCookie()]).to.deep.equal([303, []]);
        const { error = '' } = toldClient(answer);
        expect(records).to.deep.equal(denied(error));
      }
      const head = await mandate.send(`/oauth2/authorize?${asked()}`, { method: 'HEAD' });
      expect([head.status, head.headers.get('location'), head.headers.getSetCookie()]).to.deep.equal([200, null, []]);
      const other = await mandate.send('/oauth2/authorize', { method: 'PUT' });
      expect([other.status, other.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST']);
      const { answer, records } = await recordsOf(() =>
        mandate.send('/oauth2/authorize', {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'application/json' },
        }),
      );
      expectPage(answer, 'This address cannot be read');
      expect(records).to.deep.equal(denied('invalid_request'));
    });

    it('ends on a page, and never leads away, if client and redirect URI do not belong together', async () => {
      const unknown = 'This program is not known here';
      const elsewhere = 'The answer would go to an unknown address';
      const cases: readonly (readonly [string, reason: string, title: string])[] = [
        [asked({ client_id: undefined }), 'client_unknown', unknown],
        [asked({ client_id: 'nobody' }), 'client_unknown', unknown],
        [asked({ client_id: 'https://nobody.example/client.json' }), 'client_unknown', unknown],
        [`${asked()}&client_id=${agentId}`, 'client_unknown', unknown],
        ...[
          'https://client.example/cb',
          'https://client.example/cb?kept=1&more=1',
          'https://client.example/cb?kept=1/..',
          'https://client.example:443/cb?kept=1',
          'HTTPS://client.example/cb?kept=1',
          'https://CLIENT.example/cb?kept=1',
          'https://client.example./cb?kept=1',
          'https://client.example@evil.example/cb?kept=1',
          'https://client.example/%63b?kept=1',
          'https://evil.example',
          '//evil.example',
          'javascript:alert(1)',
        ].map((redirect_uri) => [asked({ redirect_uri }), 'redirect_uri_not_registered', elsewhere] as const),
        [`${asked()}&redirect_uri=${encodeURIComponent(CALLBACK)}`, 'redirect_uri_not_registered', elsewhere],
        [`${asked({ redirect_uri: undefined })}&redirect_uri=%ff`, 'redirect_uri_not_registered', elsewhere],
        // Other faults say nothing before.
        [
          asked({ redirect_uri: 'https://evil.example', response_type: 'token' }),
          'redirect_uri_not_registered',
          elsewhere,
        ],
      ];
      for (const [query, reason, title] of cases) {
        const { answer, records } = await recordsOf(() => begin(query));
        expectPage(answer, title);
        expect(records, query).to.deep.equal(denied(reason));
      }
      const german = await mandate.get(`/oauth2/authorize?${asked({ client_id: 'nobody' })}`, {
        'accept-language': 'de',
      });
      expect(titleOf(german)).to.equal('Dieses Programm ist hier nicht bekannt');
    });

    it('takes any port of a loopback address, in its own spelling, and no other one', async () => {
      const native = await publicAgent(mandate, { redirect_uris: ['http://127.0.0.1:1234/cb', 'cursor://open/cb'] });
      for (const [redirect_uri, isTaken] of [
        ['http://127.0.0.1:1234/cb', true],
        ['http://127.0.0.1:65535/cb', true],
        ['http://127.0.0.1/cb', true],
        ['cursor://open/cb', true],
        ['http://localhost:1234/cb', false],
        ['http://127.0.0.1.evil.example:1234/cb', false],
        ['http://127.0.0.1:1234@evil.example/cb', false],
        ['http://127.0.0.1:70000/cb', false],
        ['http://127.0.0.1:1234/cb/', false],
        ['http://127.0.0.1:1234/CB', false],
        ['http://127.0.0.1:1234/cb?x', false],
        ['https://127.0.0.1:1234/cb', false],
        ['http://2130706433:1234/cb', false],
        ['cursor://open/cb/', false],
      ] as const) {
        const answer = await begin(authorizationRequest(native, { redirect_uri }));
        expect(answer.status, redirect_uri).to.equal(isTaken ? 303 : 400);
      }
      // Two are registered.
      expect((await begin(authorizationRequest(native, { redirect_uri: undefined }))).status).to.equal(400);
    });

    it('tells the client of each other fault, with its state and the issuer, and records it', async () => {
      const cases: readonly (readonly [query: string, error: string, reason: string])[] = [
        [asked({ response_type: 'token' }), 'unsupported_response_type', 'unsupported_response_type'],
        [asked({ response_type: undefined }), 'invalid_request', 'invalid_request'],
        [asked({ response_mode: 'fragment' }), 'invalid_request', 'invalid_request'],
        [asked({ code_challenge: undefined }), 'invalid_request', 'code_challenge_missing'],
        [asked({ code_challenge_method: 'plain' }), 'invalid_request', 'code_challenge_missing'],
        [asked({ code_challenge: CHALLENGE.slice(1) }), 'invalid_request', 'invalid_request'],
        [asked({ request: 'a.b.c' }), 'request_not_supported', 'request_not_supported'],
        [asked({ request_uri: 'urn:x' }), 'request_uri_not_supported', 'request_uri_not_supported'],
        [asked({ prompt: 'none' }), 'interaction_required', 'interaction_required'],
        [asked({ prompt: 'none login' }), 'invalid_request', 'invalid_request'],
        [asked({ resource: undefined }), 'invalid_target', 'audience_not_allowed'],
        [asked({ resource: 'https://other.example' }), 'invalid_target', 'audience_not_allowed'],
        [`${asked()}&resource=${encodeURIComponent(WIKI)}`, 'invalid_target', 'audience_not_allowed'],
        [asked({ scope: 'calendar:read' }), 'invalid_scope', 'scope_intersection_empty'],
        [asked({ scope: 'jira:read "' }), 'invalid_scope', 'scope_intersection_empty'],
        [`${asked()}&scope=jira%3Aread`, 'invalid_request', 'invalid_request'],
      ];
      for (const [query, error, reason] of cases) {
        const { answer, records } = await recordsOf(() => begin(query));
        expect(answer.status, query).to.equal(303);
        expect(answer.headers.get('location'), query).to.match(/^https:\/\/client\.example\/cb\?kept=1&/);
        const { error_description: sentence, ...told } = toldClient(answer);
        expect(told, query).to.deep.equal({ kept: '1', error, state: STATE, iss: mandate.issuer });
        // RFC 6749 §4.1.2.1: these characters only.
        expect(sentence, query).to.match(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
        expect([answer.text, answer.headers.getSetCookie()], query).to.deep.equal(['', []]);
        expect(records, query).to.deep.equal(denied(reason));
      }
      for (const length of [2049, 3072]) {
        const { answer, records } = await recordsOf(() => begin(asked({ state: 'x'.repeat(length) })));
        expect(toldClient(answer)).to.deep.include({ error: 'invalid_request' }).and.not.to.have.property('state');
        expect(records).to.deep.equal(denied('invalid_request'));
      }
    });

    it('may leave out what is the only one: the redirect URI, the resource, and all scopes', async () => {
      const only = await publicAgent(mandate, { allowed_audiences: [JIRA] });
      const left = { redirect_uri: undefined, resource: undefined, scope: undefined };
      const answer = await begin(authorizationRequest(only, left));
      expect(answer.status).to.equal(303);
      expect(new URL(answer.headers.get('location') ?? '').searchParams.get('scope')).to.equal(
        'openid jira:read jira:comment jira:admin',
      );
    });

    it('keeps 10,000 requests nowhere: a browser keeps four', async () => {
      const cookies = new Set<string>();
      for (let nth = 0; nth < 6; nth += 1) {
        mandate.clock.advance(1);
        const cookie = [...cookies].join('; ');
        const answer = await mandate.get(`/oauth2/authorize?${asked()}`, cookie === '' ? {} : { cookie });
        for (const line of answer.headers.getSetCookie()) {
          const [pair = ''] = line.split(';');
          const [name = ''] = pair.split('=');
          for (const kept of cookies) if (kept.startsWith(`${name}=`)) cookies.delete(kept);
          if (!line.includes('Max-Age=0')) cookies.add(pair);
        }
      }
      expect(cookies.size).to.equal(4);
      expect(await mandate.sql('SELECT request_id FROM authorizations')).to.deep.equal([]);
    });

    it('does not show before the sign-in that an agent is turned off', async () => {
      const off = await publicAgent(mandate);
      await mandate.admin('PATCH', `/admin/agents/${off}`, { enabled: false });
      const { answer, records } = await recordsOf(() => begin(authorizationRequest(off)));
      expect(answer.status).to.equal(303);
      expect(new URL(answer.headers.get('location') ?? '').origin).to.equal(new URL(running.provider.issuer).origin);
      expect(records).to.deep.equal([]);
    });

    it('refuses a client without a key where it must have one', async () => {
      const strict = await mandate.another({ 'Service:Authorize:PublicClients': 'false' });
      try {
        const answer = await strict.get(`/oauth2/authorize?${asked()}`);
        expect(toldClient(answer)).to.include({ error: 'unauthorized_client', state: STATE });
        expect(fieldsOf((await mandate.ledger()).slice(-1), 'event', 'reason')).to.deep.equal([
          ['authorization.denied', 'client_not_public'],
        ]);
      } finally {
        await strict.stop();
      }
    });
  });
}
