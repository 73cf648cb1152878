/** No response and no log line repeats a credential of the request. */

import { expect } from 'chai';
import fc from 'fast-check';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, type Form, type Mandate, type RegisteredAgent, sharedMandate } from '../support/mandate.ts';

/** An attacker could use a part of a credential that has this many characters. */
const RUN = 16;
const CREDENTIALS = ['subject_token', 'actor_token', 'client_assertion', 'refresh_token', 'token'];

/** All substrings of that length. */
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

for (const database of databasesByLength) {
  describe(`The service on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await sharedMandate(database);
      agent = await mandate.agent();
    });

    /** Changes that make a credential invalid and keep most of its text. */
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
      expectNoRun('the body', answer.text, form);
      expectNoRun('a header', [...answer.headers].flat().join('\n'), form);
      expectNoRun('the log', mandate.log.lines.splice(0).join('\n'), form);
    }

    const requests: readonly (readonly [
      request: string,
      path: string,
      names: readonly string[],
      form: () => Promise<Form>,
    ])[] = [
      ['an exchange', '/oauth2/token', ['subject_token', 'actor_token'], async () => agent.exchangeForm()],
      [
        'a refresh',
        '/oauth2/token',
        ['refresh_token', 'client_assertion'],
        async () => agent.refreshForm(await agent.grant()),
      ],
      ['a revocation', '/oauth2/revoke', ['client_assertion'], async () => agent.revokeForm(await agent.grant())],
    ];
    for (const [request, path, names, makeForm] of requests) {
      it(`refuses ${request} with a malformed credential without repeating it`, async () => {
        await fc.assert(
          fc.asyncProperty(fc.constantFrom(...names), spoil, async (name, change) => {
            const good = await makeForm();
            const form = { ...good, [name]: change(good[name] ?? '') };
            fc.pre(form[name] !== good[name]);
            const answer = await mandate.post(path, form);
            expect(answer.status).to.be.within(400, 401);
            expectNoLeak(answer, form);
          }),
          { numRuns: 40 },
        );
      });
    }

    it('refuses to revoke or introspect a malformed token without repeating it', async () => {
      const token = String((await agent.exchange()).body.access_token);
      await fc.assert(
        fc.asyncProperty(spoil, fc.constantFrom('/oauth2/revoke', '/oauth2/introspect'), async (change, path) => {
          const form: Form = { ...agent.revokeForm(change(token)), token_type_hint: 'neither' };
          const answer = await mandate.post(path, path === '/oauth2/revoke' ? form : { token: change(token) });
          expectNoLeak(answer, form);
        }),
        { numRuns: 40 },
      );
    });

    it('repeats no token that is in a path, a query or a header', async () => {
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
        expectNoLeak(answer, { token });
      }
    });

    it('logs no credential of a successful request', async () => {
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
