/** Registrations over the admin API: their forms and sizes, and the record of each write (decisions "Agents"). */

import { expect } from 'chai';
import { makeAgentKey } from '../support/agents/agent-key.ts';
import { databases } from '../support/databases.ts';
import { type Answer, JIRA, type Mandate, startMandate, WIKI } from '../support/mandate.ts';
import { P256_KEY } from '../support/registrations.ts';

const RSA_2048 = 'RS256';
/** One character to a reader, two UTF-16 code units. */
const EMOJI = '👋';

const FIELDS = [
  ...['agent_id', 'display_name', 'sponsor_required', 'allowed_scopes', 'allowed_audiences', 'max_task_ttl'],
  ...['max_token_ttl', 'max_delegation_depth', 'high_risk_audiences', 'jwks_uri', 'jwks'],
  ...['enabled', 'created_at', 'updated_at'],
];

for (const database of databases) {
  describe(`registrations on ${database.name}`, () => {
    let mandate: Mandate;
    let nth = 0;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    const body = (changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => {
      nth += 1;
      return {
        agent_id: `agent-${nth}`,
        display_name: 'Jira triage',
        sponsor_required: true,
        allowed_scopes: ['jira:read', 'jira:comment'],
        allowed_audiences: [JIRA, WIKI],
        max_delegation_depth: 1,
        jwks: { keys: [P256_KEY] },
        ...changes,
      };
    };
    const register = (changes?: Readonly<Record<string, unknown>>): Promise<Answer> =>
      mandate.admin('POST', '/admin/agents', body(changes));
    const registered = async (changes?: Readonly<Record<string, unknown>>): Promise<string> => {
      const answer = await register(changes);
      expect(answer.status, answer.text).to.equal(201);
      return `/admin/agents/${String(answer.body.agent_id)}`;
    };
    /** Refused by POST and by PATCH, by that field alone, and nothing is written. */
    const expectRefused = async (field: string, value: unknown): Promise<void> => {
      const path = await registered();
      const before = (await mandate.admin('GET', path)).body;
      const lines = await mandate.recorded(async () => {
        for (const answer of [
          await register({ [field]: value }),
          await mandate.admin('PATCH', path, { [field]: value }),
        ]) {
          expect(answer.status, answer.text).to.equal(400);
          expect(answer.headers.get('content-type')).to.match(/^application\/problem\+json/);
          expect(Object.keys(answer.body.errors as object)).to.deep.equal([field]);
        }
      });
      expect(lines).to.deep.equal([]);
      expect((await mandate.admin('GET', path)).body).to.deep.equal(before);
    };

    it('are shown with every field, one of jwks_uri and jwks null, and shortest durations', async () => {
      const changes = { max_task_ttl: 'PT1200S', max_token_ttl: 'PT60S' };
      let answer: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        answer = await register(changes);
      });
      const id = `agent-${nth}`;
      expect(answer?.status).to.equal(201);
      expect(answer?.headers.get('location')).to.equal(`/admin/agents/${id}`);
      expect(Object.keys(answer?.body ?? {})).to.deep.equal(FIELDS);
      expect(answer?.body).to.include({ jwks_uri: null, max_task_ttl: 'PT20M', max_token_ttl: 'PT1M', enabled: true });
      expect((await mandate.admin('GET', `/admin/agents/${id}`)).body).to.deep.equal(answer?.body);
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include({ event: 'agent.registered', agent_id: id, decision: 'allow', reason: null });
    });

    it('take a registration without sponsor_required for one with true, and refuse false and null', async () => {
      const lines = await mandate.recorded(async () => {
        const answer = await register({ sponsor_required: undefined });
        expect(answer.status, answer.text).to.equal(201);
        expect(answer.body.sponsor_required).to.equal(true);
      });
      expect(lines.map(({ event, reason }) => [event, reason])).to.deep.equal([['agent.registered', null]]);
      for (const value of [false, null]) await expectRefused('sponsor_required', value);
    });

    it('have a display_name of 1 to 256 UTF-16 code units, without control characters and line separators', async () => {
      for (const name of ['x', 'x'.repeat(256), EMOJI.repeat(128), ' inner  space ', '\u202eright to left']) {
        const answer = await register({ display_name: name });
        expect(answer.status, answer.text).to.equal(201);
        expect(answer.body.display_name).to.equal(name);
      }
      for (const name of ['', '   ', '\u3000', 'x'.repeat(257), EMOJI.repeat(129), 'a\u0000', 'a\nb', 'a\u0085b']) {
        await expectRefused('display_name', name);
      }
      for (const name of ['a\u2028b', 'a\u2029b']) await expectRefused('display_name', name);
    });

    it('hold at most 1,000 scopes of 256 characters', async () => {
      const scopes = Array.from({ length: 1000 }, (_, index) => `scope:${index}`);
      await registered({ allowed_scopes: scopes });
      await registered({ allowed_scopes: ['x'.repeat(256)] });
      await expectRefused('allowed_scopes', [...scopes, 'one-more']);
      await expectRefused('allowed_scopes', ['x'.repeat(257)]);
    });

    for (const field of ['allowed_audiences', 'high_risk_audiences']) {
      it(`hold at most 1,000 ${field} of 2,048 ASCII characters`, async () => {
        const audiences = Array.from({ length: 1000 }, (_, index) => `https://a.example/${index}`);
        const longest = `https://a.example/${'x'.repeat(2048 - 18)}`;
        await registered({ [field]: audiences });
        await registered({ [field]: [longest, 'http://a.example:8080/%C3%BC?q=1'] });
        await expectRefused(field, [...audiences, 'https://one.more']);
        for (const uri of [
          `${longest}x`,
          'https://ünï.example',
          'https://a.example/ü',
          'a.example',
          'ftp://a.example',
        ]) {
          await expectRefused(field, [uri]);
        }
      });
    }

    it('have lifetimes of whole numbers in ISO 8601', async () => {
      expect((await register({ max_task_ttl: 'P1D', max_token_ttl: 'PT1H' })).status).to.equal(201);
      for (const field of ['max_task_ttl', 'max_token_ttl']) {
        for (const value of [
          'PT1.5M',
          'PT1,5M',
          'PT90.0S',
          'P0.5D',
          'P1Y',
          'P1M',
          '00:10:00',
          'PT',
          'P',
          'pt1m',
          600,
        ]) {
          await expectRefused(field, value);
        }
      }
    });

    it('are listed in the order of their ids, all at once or in pages', async () => {
      for (const id of ['z-last', 'a.first', 'a-first', '0']) await registered({ agent_id: id });
      const all = await mandate.admin('GET', '/admin/agents');
      const ids = (all.body.agents as { agent_id: string }[]).map(({ agent_id }) => agent_id);
      expect(ids).to.deep.equal(ids.toSorted()).and.to.include.members(['z-last', 'a.first', 'a-first', '0']);
      expect(all.body.next_after).to.equal(null);
      const paged: string[] = [];
      for (let after: unknown = ''; after !== null; ) {
        const page = await mandate.admin('GET', `/admin/agents?limit=7${after === '' ? '' : `&after=${after}`}`);
        paged.push(...(page.body.agents as { agent_id: string }[]).map(({ agent_id }) => agent_id));
        after = page.body.next_after;
      }
      expect(paged).to.deep.equal(ids);
      for (const query of ['limit=0', 'limit=1001', 'after=A', 'page=1']) {
        expect((await mandate.admin('GET', `/admin/agents?${query}`)).status, query).to.equal(400);
      }
    });

    it('are changed by closed bodies; agent_id may only be repeated', async () => {
      const path = await registered();
      const id = `agent-${nth}`;
      for (const [changes, field] of [
        [{ nickname: 'x' }, 'nickname'],
        [{ created_at: '2026-01-01T00:00:00Z' }, 'created_at'],
        [{ agent_id: 'another' }, 'agent_id'],
      ] as const) {
        const answer = await mandate.admin('PATCH', path, changes);
        expect([answer.status, Object.keys(answer.body.errors as object)]).to.deep.equal([400, [field]]);
      }
      expect((await register({ enabled: false })).status).to.equal(400);
      const lines = await mandate.recorded(async () => {
        const sent = { enabled: false, display_name: 'Other', agent_id: id };
        expect((await mandate.admin('PATCH', path, sent)).body).to.include({ enabled: false, display_name: 'Other' });
        expect((await mandate.admin('PATCH', path, { display_name: 'Other' })).status).to.equal(200);
      });
      expect(lines.map(({ event, agent_id, reason }) => [event, agent_id, reason])).to.deep.equal([
        ['agent.updated', id, 'changed:agent_id,display_name,enabled'],
        ['agent.updated', id, 'no_change'],
      ]);
    });

    it('have one source of keys: setting one clears the other', async () => {
      const path = await registered();
      const uri = await mandate.keyServer.serve({ keys: [P256_KEY] });
      const remote = await mandate.admin('PATCH', path, { jwks_uri: uri });
      expect([remote.body.jwks_uri, remote.body.jwks]).to.deep.equal([uri, null]);
      const inline = await mandate.admin('PATCH', path, { jwks: { keys: [P256_KEY] } });
      expect([inline.body.jwks_uri, inline.body.jwks]).to.deep.equal([null, { keys: [P256_KEY] }]);
    });

    it('take up to 16 keys that an assertion can be verified with, and no others', async () => {
      const rsa = (await makeAgentKey(RSA_2048)).publicJwk;
      const keys = Array.from({ length: 17 }, (_, index) => ({ ...P256_KEY, kid: `key-${index}` }));
      await registered({ jwks: { keys: [...keys.slice(0, 15), rsa] } });
      const es384 = { kty: 'EC', crv: 'P-384', x: 'A'.repeat(64), y: 'A'.repeat(64) };
      for (const refused of [
        keys,
        [],
        [{ ...P256_KEY, use: 'enc' }],
        [{ ...P256_KEY, use: undefined, key_ops: ['sign'] }],
        [{ ...P256_KEY, alg: 'ES384' }],
        [{ ...rsa, alg: 'RS512' }],
        [{ ...P256_KEY, d: 'AAAA' }],
        [es384],
        [{ kty: 'oct', k: 'AAAA' }],
        [P256_KEY, P256_KEY],
      ]) {
        await expectRefused('jwks', { keys: refused });
      }
    });

    it('record what is refused: an agent_id that is taken, and a removal while tasks are stored', async () => {
      const agent = await mandate.agent();
      const issued = await agent.exchange();
      const lines = await mandate.recorded(async () => {
        expect((await register({ agent_id: agent.id })).status).to.equal(409);
        expect((await mandate.admin('DELETE', `/admin/agents/${agent.id}`)).status).to.equal(409);
      });
      expect(issued.status).to.equal(200);
      expect(lines.map(({ event, agent_id, decision, reason }) => [event, agent_id, decision, reason])).to.deep.equal([
        ['agent.registered', agent.id, 'deny', 'agent_already_exists'],
        ['agent.deleted', agent.id, 'deny', 'agent_has_tasks'],
      ]);
    });
  });
}
