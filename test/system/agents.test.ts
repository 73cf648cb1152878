/** The limits of the fields of a registration, by `POST` and `PATCH` (specification "Agent registration"). */

import { expect } from 'chai';
import { makeAgentKey } from '../support/agents/agent-key.ts';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, aRegistration, type Mandate, sharedMandate } from '../support/mandate.ts';
import { P256_KEY } from '../support/registrations.ts';

/** A reader sees one character; it has two UTF-16 code units. */
const EMOJI = '👋';

type Fields = Readonly<Record<string, unknown>>;

for (const database of databasesByLength) {
  describe(`The admin API on ${database.name}`, () => {
    let mandate: Mandate;
    let registered = 0;
    before(async () => {
      mandate = await sharedMandate(database);
    });

    const send = (changes: Fields): Promise<Answer> => {
      registered += 1;
      const id = `limits-${registered}`;
      return mandate.admin(
        'POST',
        '/admin/agents',
        aRegistration({ agent_id: id, jwks: { keys: [P256_KEY] }, ...changes }),
      );
    };
    const expectAccepted = async (changes: Fields = {}): Promise<string> => {
      const answer = await send(changes);
      expect(answer.status, answer.text).to.equal(201);
      expect(answer.body).to.deep.include(changes);
      return `/admin/agents/${String(answer.body.agent_id)}`;
    };
    /** Expects that `POST` and `PATCH` refuse the value, name only this field and write nothing. */
    const expectRefused = async (field: string, value: unknown): Promise<void> => {
      const path = await expectAccepted();
      const before = (await mandate.admin('GET', path)).body;
      const lines = await mandate.recorded(async () => {
        for (const answer of [await send({ [field]: value }), await mandate.admin('PATCH', path, { [field]: value })]) {
          expect(answer.status, answer.text).to.equal(400);
          expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
          expect(Object.keys(answer.body.errors as object)).to.deep.equal([field]);
        }
      });
      expect(lines).to.deep.equal([]);
      expect((await mandate.admin('GET', path)).body).to.deep.equal(before);
    };

    it('requires sponsor_required to be true', async () => {
      await expectAccepted({ sponsor_required: true });
      for (const value of [false, null]) await expectRefused('sponsor_required', value);
    });

    it('accepts a display_name of 1 to 256 UTF-16 code units, without control characters and line separators', async () => {
      for (const name of ['x', 'x'.repeat(256), EMOJI.repeat(128), ' inner  space ', '\u202eright to left']) {
        await expectAccepted({ display_name: name });
      }
      const tooLong = ['x'.repeat(257), EMOJI.repeat(129)];
      const controls = ['a\u0000', 'a\nb', 'a\u0085b', 'a\u2028b', 'a\u2029b'];
      for (const name of ['', '   ', '\u3000', ...tooLong, ...controls]) await expectRefused('display_name', name);
    });

    it('accepts at most 1,000 scopes of at most 256 characters', async () => {
      const scopes = Array.from({ length: 1000 }, (_, index) => `scope:${index}`);
      await expectAccepted({ allowed_scopes: scopes });
      await expectAccepted({ allowed_scopes: ['x'.repeat(256)] });
      await expectRefused('allowed_scopes', [...scopes, 'one-more']);
      await expectRefused('allowed_scopes', ['x'.repeat(257)]);
    });

    for (const field of ['allowed_audiences', 'high_risk_audiences']) {
      it(`accepts at most 1,000 ${field} of at most 2,048 ASCII characters`, async () => {
        const audiences = Array.from({ length: 1000 }, (_, index) => `https://a.example/${index}`);
        const longest = `https://a.example/${'x'.repeat(2048 - 18)}`;
        await expectAccepted({ [field]: audiences });
        await expectAccepted({ [field]: [longest, 'http://a.example:8080/%C3%BC?q=1'] });
        await expectRefused(field, [...audiences, 'https://one.more']);
        const notASCII = ['https://ünï.example', 'https://a.example/ü'];
        for (const uri of [`${longest}x`, ...notASCII, 'a.example', 'ftp://a.example'])
          await expectRefused(field, [uri]);
      });
    }

    it('accepts lifetimes only as ISO 8601 durations of whole numbers', async () => {
      await expectAccepted({ max_task_ttl: 'P1D', max_token_ttl: 'PT1H' });
      const fractions = ['PT1.5M', 'PT1,5M', 'PT90.0S', 'P0.5D'];
      for (const field of ['max_task_ttl', 'max_token_ttl']) {
        for (const value of [...fractions, 'P1Y', 'P1M', '00:10:00', 'PT', 'P', 'pt1m', 600]) {
          await expectRefused(field, value);
        }
      }
    });

    it('accepts at most 16 keys, and only keys that can verify an assertion', async () => {
      const rsa = (await makeAgentKey('RS256')).publicJwk;
      const keys = Array.from({ length: 17 }, (_, index) => ({ ...P256_KEY, kid: `key-${index}` }));
      await expectAccepted({ jwks: { keys: [...keys.slice(0, 15), rsa] } });
      for (const refused of [
        keys,
        [],
        [{ ...P256_KEY, use: 'enc' }],
        [{ ...P256_KEY, use: undefined, key_ops: ['sign'] }],
        [{ ...P256_KEY, alg: 'ES384' }],
        [{ ...rsa, alg: 'RS512' }],
        [{ ...P256_KEY, d: 'AAAA' }],
        [{ kty: 'EC', crv: 'P-384', x: 'A'.repeat(64), y: 'A'.repeat(64) }],
        [{ kty: 'oct', k: 'AAAA' }],
        [P256_KEY, P256_KEY],
      ]) {
        await expectRefused('jwks', { keys: refused });
      }
    });
  });
}
