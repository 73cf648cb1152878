/** Public vectors through the surfaces that strangers reach: always a clear refusal or a faithful answer, never a 5xx. */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { byLengthOf } from '../support/length.ts';
import { ADMIN_KEY, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { describeVectors } from '../support/public-vectors.ts';

interface JwsVectors {
  readonly testGroups: readonly { readonly tests: readonly { readonly tcId: number; readonly jws: string }[] }[];
}

/** So many are asked at once: while one waits for its database, another is judged. */
const AT_ONCE = 8;

async function forEach<Value>(values: Iterable<Value>, act: (value: Value) => Promise<unknown>): Promise<void> {
  const rest = byLengthOf([...values]).values();
  const oneByOne = async () => {
    for (const value of rest) await act(value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, oneByOne));
}

for (const database of databases) {
  describe(`public vectors on ${database.name}`, function () {
    this.timeout(120_000);
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    describeVectors<readonly string[]>('naughty strings', 'naughty_strings.json', (strings) => {
      for (const name of ['subject_token', 'actor_token', 'resource', 'scope', 'client_id', 'grant_type']) {
        it(`as ${name} of an exchange are refused`, async () => {
          await forEach(
            strings.filter((one) => one !== ''),
            async (value) => {
              const answer = await agent.exchange({ [name]: value });
              expect(answer.status, JSON.stringify(value)).to.be.within(400, 401);
              expect(answer.body.error, JSON.stringify(value)).to.be.a('string');
            },
          );
        });
      }

      it('as jti and instance of an assertion are used as they are, or refused', async () => {
        await forEach(strings, async (value) => {
          const answer = await agent.exchange({ actor_token: agent.assertion({ jti: `${value}#1`, instance: value }) });
          expect(answer.status, JSON.stringify(value)).to.be.oneOf([200, 401]);
        });
      });

      it('as sub of a subject token are the person, to the letter, or refused', async () => {
        await forEach(new Set(strings), async (sub) => {
          const answer = await agent.exchange({ subject_token: mandate.provider.mintAccessToken({ sub }) });
          expect(answer.status, JSON.stringify(sub)).to.be.oneOf([200, 400]);
          if (answer.status !== 200) return;
          const { body } = await mandate.post('/oauth2/introspect', { token: String(answer.body.access_token) });
          expect(body).to.include({ active: true, sub });
          const audit = await mandate.admin('GET', `/audit?sponsor=${encodeURIComponent(sub)}`);
          expect(audit.body.records).to.have.lengthOf(1);
        });
      });

      it('as tokens to introspect and to revoke are answered like any unknown one', async () => {
        await forEach(
          strings.filter((one) => one !== ''),
          async (token) => {
            const introspected = await mandate.post('/oauth2/introspect', { token });
            expect(introspected.body, JSON.stringify(token)).to.deep.equal({ active: false });
            expect((await agent.revoke(token)).text, JSON.stringify(token)).to.equal('');
          },
        );
      });

      it('as fields of a registration are stored as they are, or refused by field', async () => {
        // One after the other: all of them change the same agent.
        for (const value of byLengthOf(strings)) {
          const named = await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: value });
          expect(named.status, JSON.stringify(value)).to.be.oneOf([200, 400]);
          if (named.status === 200) expect(named.body.display_name).to.equal(value);
          else expect(named.body.errors).to.have.all.keys('display_name');
          const registered = await mandate.admin('POST', '/admin/agents', {
            agent_id: value,
            display_name: 'x',
            sponsor_required: true,
            allowed_scopes: [value],
            allowed_audiences: [value],
            max_delegation_depth: 1,
            jwks_uri: value,
          });
          expect(registered.status, JSON.stringify(value)).to.equal(400);
        }
      });

      it('as ids in paths and as filters are not found or refused', async () => {
        await forEach(
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
      it('that are malformed are refused, and those that are not are read', async () => {
        await forEach(Object.entries(bodies), async ([name, encoded]) => {
          const bytes = Buffer.from(encoded, 'base64');
          const response = await fetch(`${mandate.url}/admin/agents`, {
            method: 'POST',
            headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
            body: new Uint8Array(bytes),
          });
          // None of them is a registration: what can be read is refused for what it says.
          expect(response.status, name).to.equal(400);
          expect(response.headers.get('content-type'), name).to.match(/^application\/problem\+json/);
          const { errors } = (await response.json()) as { errors?: unknown };
          if (name.startsWith('n_')) expect(errors, name).to.equal(undefined);
        });
      });
    });

    describeVectors<JwsVectors>(
      'foreign signed tokens',
      'wycheproof_json_web_signature_test.json',
      ({ testGroups }) => {
        it('are no assertion, no subject token and no token of ours', async () => {
          await forEach(
            testGroups.flatMap((group) => group.tests),
            async ({ tcId, jws }) => {
              if (jws === '') return;
              const asActor = await agent.exchange({ actor_token: jws });
              expect(asActor.body.error, String(tcId)).to.equal('invalid_client');
              const asSubject = await agent.exchange({ subject_token: jws });
              expect(asSubject.body.error, String(tcId)).to.equal('invalid_grant');
              const introspected = await mandate.post('/oauth2/introspect', { token: jws });
              expect(introspected.body, String(tcId)).to.deep.equal({ active: false });
            },
          );
        });
      },
    );
  });
}
