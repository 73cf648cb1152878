/**
 * The sponsor check in mode `poll`: the service queries the identity provider about the person (specification "Sponsor
 * check"). A loopback server answers as Keycloak's admin API does.
 */

import { expect } from 'chai';
import { readCompactJws } from '../../domain/tokens/compact-jws.ts';
import { databasesByLength, sqliteFile } from '../support/databases.ts';
import { answering } from '../support/loopback.ts';
import { startMandate } from '../support/mandate.ts';
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

    it('refuses a blocked person without a query', async () => {
      const { mandate, agent } = checked;
      await mandate.block('blocked-here', 'disabled');
      const lines = await mandate.recorded(() => agent.exchangeFor({ sub: 'blocked-here' }));
      expect(lines.at(-1)).to.include({ reason: 'sponsor_disabled' });
      expect(questions()).to.have.lengthOf(0);
    });

    testSponsorKeys(checked);
  });
}

describe('The access of the sponsor check to the users', () => {
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
});
