/**
 * The sponsor check in mode `poll`: the service queries the identity provider about the person (specification "Sponsor
 * check"). A loopback server answers as Keycloak's admin API does.
 */

import { expect } from 'chai';
import { readCompactJws } from '../../domain/tokens/compact-jws.ts';
import { databasesByLength, sqliteFile } from '../support/databases.ts';
import { answering } from '../support/loopback.ts';
import { fieldsOf, startMandate } from '../support/mandate.ts';
import { startUserDirectory } from '../support/user-directory.ts';
import { ACTIVE, checkedService } from './sponsor-check/checked.ts';
import { testSponsorKeys } from './sponsor-check/keys.ts';

for (const database of databasesByLength) {
  describe(`The sponsor check in mode poll on ${database.name}`, () => {
    const checked = checkedService(database);
    const { questions } = checked;

    const UNAVAILABLE = 'sponsor_status_unavailable';

    const refusals: readonly (readonly [when: string, status: number, body: unknown, reason: string])[] = [
      ['a disabled person', 200, { ...ACTIVE, enabled: false }, 'sponsor_disabled'],
      ['404', 404, {}, 'sponsor_not_found'],
      ['403', 403, {}, UNAVAILABLE],
      ['404 with the text of a proxy', 404, '404 page not found', UNAVAILABLE],
      ['200 with the id of another person', 200, { ...ACTIVE, id: 'grace' }, UNAVAILABLE],
      ["Keycloak's 404 about an unknown path", 404, { error: 'HTTP 404 Not Found' }, UNAVAILABLE],
      ['a person without enabled', 200, {}, UNAVAILABLE],
      ['malformed JSON', 200, '<html>', UNAVAILABLE],
    ];

    for (const [what, status, body, reason] of refusals) {
      it(`refuses an exchange and a refresh with ${reason} if the provider answers ${what}`, async () => {
        const { mandate, agent } = checked;
        const issued = await agent.exchange();
        expect(issued.status, issued.text).to.equal(200);
        mandate.clock.advance(31);
        checked.person = { status, body };
        for (const act of [() => agent.exchange(), () => agent.refresh(String(issued.body.refresh_token))]) {
          const lines = await mandate.recorded(async () => {
            const answer = await act();
            expect([answer.status, answer.body.error]).to.deep.equal(
              reason === UNAVAILABLE ? [503, 'temporarily_unavailable'] : [400, 'access_denied'],
            );
          });
          expect(lines).to.have.lengthOf(1);
          expect(lines[0]).to.include({ event: 'token.denied', reason, agent_id: agent.id, sponsor: 'ada' });
        }
      });
    }

    it('queries by sub at every exchange, without a cache', async () => {
      const { agent } = checked;
      await agent.exchange();
      await agent.exchange();
      expect(questions().map((request) => request.path)).to.deep.equal(['/users/ada', '/users/ada']);
    });

    it('queries once more if the agent changes during its first exchange', async () => {
      const { admin, mandate, agent } = checked;
      let isChanged = false;
      const usual = admin.answer;
      admin.answer = async (request, response) => {
        if (request.path.startsWith('/users/') && !isChanged) {
          isChanged = true;
          await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: 'Changed meanwhile' });
        }
        usual(request, response);
      };
      const answer = await agent.exchange();
      admin.answer = usual;
      expect(answer.status, answer.text).to.equal(200);
      expect(isChanged).to.equal(true);
      expect(questions()).to.have.lengthOf(2);
    });

    it('answers 503 if the agent changes in every attempt, records that, and does not mark the assertion as used', async () => {
      const { mandate, agent } = checked;
      let changes = 0;
      checked.meanwhile = () =>
        mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: `Triage ${++changes}` });
      const form = agent.exchangeForm();
      const lines = await mandate.recorded(async () => {
        const answer = await mandate.post('/oauth2/token', form);
        expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1']);
        expect(answer.body).to.deep.equal({
          error: 'temporarily_unavailable',
          error_description: 'What the request was judged on changed in every round. Retry the request.',
        });
      });
      expect(changes).to.equal(8);
      const refused = lines.filter(({ event }) => event !== 'agent.updated');
      expect(refused).to.have.lengthOf(1);
      expect(refused[0]).to.include({ event: 'token.denied', decision: 'deny', reason: 'overloaded', agent_id: null });
      checked.meanwhile = async () => undefined;
      expect((await mandate.post('/oauth2/token', form)).status).to.equal(200);
    });

    it('caches an answer, for refreshes, for the configured lifetime', async () => {
      const { admin, mandate, agent } = checked;
      const grant = await agent.grant();
      admin.received.length = 0;
      mandate.clock.advance(40);
      await agent.refresh(grant);
      await agent.refresh(grant);
      expect(questions()).to.have.lengthOf(1);
      mandate.clock.advance(31);
      await agent.refresh(grant);
      expect(questions()).to.have.lengthOf(2);
    });

    it('uses no cached answer from before the task existed', async () => {
      const { mandate, agent } = checked;
      mandate.clock.standStill();
      const earlier = await agent.grant();
      mandate.clock.advance(1);
      // This answer, for the earlier task, is cached for thirty seconds.
      expect((await agent.refresh(earlier)).status).to.equal(200);
      mandate.clock.advance(10);
      const issued = await agent.exchange();
      checked.person = { status: 200, body: { ...ACTIVE, enabled: false } };
      mandate.clock.advance(5);
      const lines = await mandate.recorded(async () => {
        const answer = await agent.refresh(String(issued.body.refresh_token));
        expect([answer.status, answer.body.reason]).to.deep.equal([400, 'sponsor_disabled']);
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason', 'task_id')).to.deep.equal([
        ['token.denied', 'deny', 'sponsor_disabled', issued.body.task_id],
      ]);
    });

    it('uses no cached answer that is older than the remaining lifetime of the task', async () => {
      const { mandate, agent } = checked;
      mandate.clock.standStill();
      const issued = await agent.exchange();
      const grant = String(issued.body.refresh_token);
      mandate.clock.advance(20 * 60 - 45);
      expect((await agent.refresh(grant)).status).to.equal(200);
      checked.person = { status: 200, body: { ...ACTIVE, enabled: false } };
      // The answer is 25 s old, and is cached for 30 s. The task and its last token have 20 s left.
      mandate.clock.advance(25);
      const lines = await mandate.recorded(async () => {
        const answer = await agent.refresh(grant);
        expect([answer.status, answer.body.reason]).to.deep.equal([400, 'sponsor_disabled']);
      });
      expect(fieldsOf(lines, 'event', 'reason', 'task_id')).to.deep.equal([
        ['token.denied', 'sponsor_disabled', issued.body.task_id],
      ]);
    });

    describe('does not renew a task that, during the query,', () => {
      const TASK_SECONDS = 20 * 60;
      type End = (task: string) => Promise<unknown>;
      const ends: readonly (readonly [reason: string, how: string, end: End])[] = [
        ['task_revoked', 'was revoked', (task) => checked.mandate.admin('DELETE', `/admin/tasks/${task}`)],
        ['task_expired', 'expired', async () => checked.mandate.clock.advance(TASK_SECONDS)],
        [
          'task_ending',
          'came within five seconds of its end',
          async () => checked.mandate.clock.advance(TASK_SECONDS - 4),
        ],
      ];
      for (const [reason, how, end] of ends) {
        it(how, async () => {
          const { admin, mandate, agent } = checked;
          mandate.clock.standStill();
          const issued = await agent.exchange();
          const form = agent.refreshForm(String(issued.body.refresh_token));
          admin.received.length = 0;
          checked.meanwhile = () => end(String(issued.body.task_id));
          const lines = await mandate.recorded(async () => {
            const answer = await mandate.post('/oauth2/token', form);
            expect([answer.status, answer.body.error, answer.body.reason]).to.deep.equal([
              400,
              'access_denied',
              reason,
            ]);
          });
          expect(questions(), 'the provider was asked').not.to.have.lengthOf(0);
          const about = { agent_id: agent.id, sponsor: 'ada', task_id: issued.body.task_id };
          expect(lines.filter(({ event }) => event === 'token.refreshed')).to.deep.equal([]);
          expect(lines.at(-1)).to.include({ event: 'token.denied', decision: 'deny', reason, ...about });
        });
      }
    });

    it('refuses a blocked person without a query', async () => {
      const { mandate, agent } = checked;
      await mandate.block('blocked-here', 'disabled');
      const lines = await mandate.recorded(() => agent.exchangeFor({ sub: 'blocked-here' }));
      expect(lines.at(-1)).to.include({ reason: 'sponsor_disabled' });
      expect(questions()).to.have.lengthOf(0);
    });

    it('goes on asking while the provider fails for one person only', async () => {
      const { agent } = checked;
      checked.person = { status: 500, body: {} };
      for (let time = 0; time < 7; time += 1) expect((await agent.exchangeFor({ sub: 'odd' })).status).to.equal(503);
      expect(questions()).to.have.lengthOf(7);
      checked.person = { status: 200, body: ACTIVE };
      expect((await agent.exchange()).status).to.equal(200);
    });

    it('sends no query for five seconds after five failures about two people, then sends one', async () => {
      const { mandate, agent } = checked;
      checked.person = { status: 500, body: {} };
      for (const sub of ['odd', 'odd', 'odd', 'odd', 'ada']) {
        expect((await agent.exchangeFor({ sub })).status).to.equal(503);
      }
      expect(questions()).to.have.lengthOf(5);
      checked.person = { status: 200, body: ACTIVE };
      expect((await agent.exchange()).body.error).to.equal('temporarily_unavailable');
      expect(questions()).to.have.lengthOf(5);
      mandate.clock.advance(5);
      expect((await agent.exchange()).status).to.equal(200);
    });

    testSponsorKeys(checked);
  });
}

describe('The access of the sponsor check to the users', () => {
  const SECRET = 'b'.repeat(32);
  const requestsWith = async (changes: Readonly<Record<string, string>>, unset: readonly string[] = []) => {
    const directory = await startUserDirectory(answering(ACTIVE));
    const given = Object.entries(directory.settings).filter(([key]) => !unset.some((name) => key.endsWith(name)));
    const mandate = await startMandate({
      database: sqliteFile,
      settings: { ...Object.fromEntries(given), ...changes },
    });
    try {
      const agent = await mandate.agent();
      expect((await agent.exchange()).status).to.equal(200);
      return { received: [...directory.server.received], url: directory.server.url, issuer: mandate.provider.issuer };
    } finally {
      await mandate.stop();
      await directory.server.close();
    }
  };
  const parsed = (body = '') => {
    const { client_assertion = '', ...form } = Object.fromEntries(new URLSearchParams(body));
    return { form, aud: readCompactJws(client_assertion)?.claims.json.aud };
  };
  const FORM = {
    grant_type: 'client_credentials',
    client_id: 'mandate',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };

  it('is requested without a scope, by an assertion for the issuer', async () => {
    const { received, issuer } = await requestsWith({});
    expect(received.map(({ path }) => path)).to.deep.equal(['/token', '/users/ada']);
    expect(parsed(received[0]?.body)).to.deep.equal({ form: FORM, aud: issuer });
  });

  it('is requested with the configured scope, by an assertion for the token endpoint', async () => {
    const { received, url } = await requestsWith({
      'Service:UpstreamIdp:SponsorCheck:Scope': 'users:read groups',
      'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
    });
    const form = { ...FORM, scope: 'users:read groups' };
    expect(parsed(received[0]?.body)).to.deep.equal({ form, aud: `${url}/token` });
  });

  it('is a configured token, without a request for one', async () => {
    const { received } = await requestsWith({ 'Service:UpstreamIdp:SponsorCheck:BearerToken': SECRET }, [
      'TokenUrl',
      'ClientId',
    ]);
    expect(received.map(({ path, headers }) => [path, headers.authorization])).to.deep.equal([
      ['/users/ada', `Bearer ${SECRET}`],
    ]);
  });
});
