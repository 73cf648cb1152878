/** Sends public test vectors to each surface, which refuses a value or keeps it unchanged, without a 5xx. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { sampleByLength } from '../support/length.ts';
import { ADMIN_KEY, aRegistration, type Mandate, type RegisteredAgent, sharedMandate } from '../support/mandate.ts';
import { describeForeignJws, describeVectors, tryEach } from '../support/public-vectors.ts';

for (const database of databasesByLength) {
  describe(`Public vectors on ${database.name}`, function () {
    this.timeout(120_000);
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await sharedMandate(database);
      agent = await mandate.agent();
    });

    describeVectors<readonly string[]>('naughty strings', 'naughty_strings.json', (strings) => {
      for (const name of ['subject_token', 'actor_token', 'resource', 'scope', 'client_id', 'grant_type']) {
        it(`are refused as ${name} of an exchange`, async () => {
          await tryEach(
            strings.filter((one) => one !== ''),
            async (value) => {
              const answer = await agent.exchange({ [name]: value });
              expect(answer.status, JSON.stringify(value)).to.be.within(400, 401);
              expect(answer.body.error, JSON.stringify(value)).to.be.a('string');
            },
          );
        });
      }

      it('are kept unchanged as jti and instance of an assertion, or refused', async () => {
        await tryEach(strings, async (value) => {
          const answer = await agent.exchange({ actor_token: agent.assertion({ jti: `${value}#1`, instance: value }) });
          expect(answer.status, JSON.stringify(value)).to.be.oneOf([200, 401]);
        });
      });

      it('are kept unchanged as sub of a subject token, or refused', async () => {
        await tryEach([...new Set(strings)], async (sub) => {
          const answer = await agent.exchangeFor({ sub });
          expect(answer.status, JSON.stringify(sub)).to.be.oneOf([200, 400]);
          if (answer.status !== 200) return;
          expect(await mandate.introspect(answer)).to.include({ active: true, sub });
          const audit = await mandate.admin('GET', `/audit?sponsor=${encodeURIComponent(sub)}`);
          expect(audit.body.records).to.have.lengthOf(1);
        });
      });

      it('are inactive in introspection, and get an empty 200 from revocation', async () => {
        await tryEach(
          strings.filter((one) => one !== ''),
          async (token) => {
            expect(await mandate.introspect(token), JSON.stringify(token)).to.deep.equal({ active: false });
            expect((await agent.revoke(token)).text, JSON.stringify(token)).to.equal('');
          },
        );
      });

      it('are stored unchanged in a registration, or refused by field', async () => {
        // One after another, because all change one agent.
        for (const value of sampleByLength(strings)) {
          const named = await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: value });
          expect(named.status, JSON.stringify(value)).to.be.oneOf([200, 400]);
          if (named.status === 200) expect(named.body.display_name).to.equal(value);
          else expect(named.body.errors).to.have.all.keys('display_name');
          const odd = { agent_id: value, allowed_scopes: [value], allowed_audiences: [value], jwks_uri: value };
          const registered = await mandate.admin('POST', '/admin/agents', aRegistration(odd));
          expect(registered.status, JSON.stringify(value)).to.equal(400);
        }
      });

      it('get a 4xx as ids in paths and as values of filters', async () => {
        await tryEach(
          strings.filter((one) => one !== '' && one.isWellFormed()),
          async (value) => {
            const encoded = encodeURIComponent(value);
            const shown = await mandate.admin('GET', `/admin/agents/${encoded}`);
            expect(shown.status, JSON.stringify(value)).to.be.within(400, 404);
            const filter = await mandate.admin(
              'GET',
              `/audit?agent_id=${encoded}&task_id=${encoded}&cursor=${encoded}`,
            );
            expect(filter.status, JSON.stringify(value)).to.equal(400);
          },
        );
      });
    });

    describeVectors<Readonly<Record<string, string>>>('JSON bodies', 'json_test_suite.json', (bodies) => {
      it('are refused as registrations: malformed JSON as a whole, well-formed JSON by field', async () => {
        await tryEach(Object.entries(bodies), async ([name, encoded]) => {
          const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
          const content = new Uint8Array(Buffer.from(encoded, 'base64'));
          const answer = await mandate.send('/admin/agents', { method: 'POST', headers, body: content });
          // No vector is a valid registration, so even well-formed JSON is refused by field.
          expect(answer.status, name).to.equal(400);
          expect(answer.headers.get('content-type'), name).to.match(/^application\/problem\+json/);
          if (name.startsWith('n_')) expect(answer.body.errors, name).to.equal(undefined);
        });
      });
    });

    describeForeignJws((vectors) => {
      it('are accepted neither as assertions nor as subject tokens, and are inactive in introspection', async () => {
        await tryEach(vectors, async ({ tcId, jws }) => {
          const asActor = await agent.exchange({ actor_token: jws });
          expect(asActor.body.error, String(tcId)).to.equal('invalid_client');
          const asSubject = await agent.exchange({ subject_token: jws });
          expect(asSubject.body.error, String(tcId)).to.equal('invalid_grant');
          expect(await mandate.introspect(jws), String(tcId)).to.deep.equal({ active: false });
        });
      });
    });
  });
}
