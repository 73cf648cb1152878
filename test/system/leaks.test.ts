/** No refusal gives back what was presented: neither in a body, nor in a header, nor in a log line. */

import { expect } from 'chai';
import fc from 'fast-check';
import { databases } from '../support/databases.ts';
import { type Answer, type Form, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

/** A run of this many characters of a credential would be worth something to whoever reads it. */
const RUN = 16;
const CREDENTIALS = ['subject_token', 'actor_token', 'client_assertion', 'refresh_token', 'token'];

/** Every run of that length in a text. */
function runsOf(text: string): Set<string> {
  const runs = new Set<string>();
  for (let at = 0; at + RUN <= text.length; at += 1) runs.add(text.slice(at, at + RUN));
  return runs;
}

function expectNoRun(where: string, haystack: string, form: Form): void {
  const seen = runsOf(haystack);
  for (const name of CREDENTIALS) {
    for (const run of runsOf(form[name] ?? '')) if (seen.has(run)) throw new Error(`${where} holds a run of ${name}`);
  }
}

for (const database of databases) {
  describe(`refusals keep secrets on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    /** Ways to spoil a credential while most of it stays. */
    const spoil = fc.constantFrom<(value: string) => string>(
      (value) => `${value}x`,
      (value) => value.slice(1),
      (value) => value.slice(0, -1),
      (value) => `${value}.${value}`,
      (value) => value.toUpperCase(),
      (value) => `${value}${'y'.repeat(20_000)}`,
      (value) => value.replace('.', '..'),
      (value) => `Bearer ${value}`,
    );

    function expectNoLeak(answer: Answer, form: Form): void {
      expect(answer.status).to.be.within(400, 401);
      expectNoRun('the body', answer.text, form);
      expectNoRun('a header', [...answer.headers].flat().join('\n'), form);
      expectNoRun('the log', mandate.log.lines.splice(0).join('\n'), form);
    }

    it('on an exchange', async () => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom('subject_token', 'actor_token'), spoil, async (name, change) => {
          const good = agent.exchangeForm();
          const form = { ...good, [name]: change(good[name] ?? '') };
          fc.pre(form[name] !== good[name]);
          expectNoLeak(await mandate.post('/oauth2/token', form), form);
        }),
        { numRuns: 40 },
      );
    });

    it('on a refresh', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      await fc.assert(
        fc.asyncProperty(fc.constantFrom('refresh_token', 'client_assertion'), spoil, async (name, change) => {
          const good = agent.refreshForm(grant);
          const form = { ...good, [name]: change(good[name] ?? '') };
          fc.pre(form[name] !== good[name]);
          expectNoLeak(await mandate.post('/oauth2/token', form), form);
        }),
        { numRuns: 40 },
      );
    });

    it('on a revocation', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      await fc.assert(
        fc.asyncProperty(spoil, async (change) => {
          const good = agent.revokeForm(grant);
          const form = { ...good, client_assertion: change(good.client_assertion ?? '') };
          expectNoLeak(await mandate.post('/oauth2/revoke', form), form);
        }),
        { numRuns: 40 },
      );
    });

    it('of a token that is not good to revoke or to introspect', async () => {
      const token = String((await agent.exchange()).body.access_token);
      await fc.assert(
        fc.asyncProperty(spoil, fc.constantFrom('/oauth2/revoke', '/oauth2/introspect'), async (change, path) => {
          const form: Form = { ...agent.revokeForm(change(token)), token_type_hint: 'neither' };
          const answer = await mandate.post(path, path === '/oauth2/revoke' ? form : { token: change(token) });
          expectNoRun('the body', answer.text, form);
          expectNoRun('a header', [...answer.headers].flat().join('\n'), form);
          expectNoRun('the log', mandate.log.lines.splice(0).join('\n'), form);
        }),
        { numRuns: 40 },
      );
    });

    it('in the wrong place: a path, a query, a header', async () => {
      const token = String((await agent.exchange()).body.access_token);
      mandate.log.lines.splice(0);
      for (const [path, headers] of [
        [`/oauth2/introspect?token=${token}`, {}],
        [`/oauth2/${token}`, {}],
        [`/admin/agents/${token}`, { authorization: `Bearer ${token}` }],
        [`/audit?cursor=${token}`, { authorization: `Bearer ${token}` }],
        [`/agents/${token}/jwks.json`, { authorization: token, cookie: token }],
      ] as const) {
        const answer = await mandate.get(path, headers);
        expect(answer.status).to.be.within(400, 405);
        expectNoRun('the body', answer.text, { token });
        expectNoRun('a header', [...answer.headers].flat().join('\n'), { token });
      }
      expectNoRun('the log', mandate.log.lines.join('\n'), { token });
    });

    it('in the log of requests that went well', async () => {
      const form = agent.exchangeForm();
      const answer = await mandate.post('/oauth2/token', form);
      const log = mandate.log.lines.join('\n');
      expectNoRun('the log', log, form);
      expectNoRun('the log', log, {
        token: String(answer.body.access_token),
        refresh_token: String(answer.body.refresh_token),
      });
      const line = JSON.parse(mandate.log.lines.at(-1) ?? '{}') as Record<string, unknown>;
      expect(line).to.include({ message: 'request', method: 'POST', route: '/oauth2/token', status: 200 });
      expect(line.request_id).to.match(/^[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(line.duration_ms).to.be.a('number');
    });
  });
}
