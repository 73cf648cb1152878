/** A subject token that comes again: its signature is remembered, and every claim is checked each time. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { fieldsOf, type LedgerLine, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const ME = 'https://mandate.test/me';

for (const database of databasesByLength) {
  describe(`A subject token that was presented before, on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    const provider = startIdentityProvider();
    before(async () => {
      const settings = { 'Service:Me:Audience': ME };
      mandate = await startMandate({ database, provider: await provider, settings });
      agent = await mandate.agent();
    });
    after(async () => {
      await mandate.stop();
      await (await provider).stop();
    });

    const exchange = (token: string) => agent.exchange({ subject_token: token });
    const reasons = (lines: readonly LedgerLine[]) => fieldsOf(lines, 'event', 'decision', 'reason');

    it('starts another task, is refused for another audience and with another byte, and after its end', async () => {
      const token = agent.subjectToken();
      const lines = await mandate.recorded(async () => {
        const tasks = [await exchange(token), await exchange(token)];
        expect(tasks.map(({ status }) => status)).to.deep.equal([200, 200]);
        expect(new Set(tasks.map(({ body }) => body.refresh_token)).size).to.equal(2);
        const page = await mandate.get('/me/tasks', { authorization: `Bearer ${token}` });
        expect([page.status, page.body.error]).to.deep.equal([401, 'invalid_token']);
        const altered = `${token.slice(0, -8)}AAAAAAAA`;
        expect((await exchange(altered)).body.error).to.equal('invalid_grant');
        mandate.clock.advance(3600 + 61);
        expect((await exchange(token)).body.error).to.equal('invalid_grant');
      });
      expect(reasons(lines)).to.deep.equal([
        ['token.issued', 'allow', null],
        ['token.issued', 'allow', null],
        ['me.denied', 'deny', 'token_audience_mismatch'],
        ['token.denied', 'deny', 'subject_invalid_signature'],
        ['token.denied', 'deny', 'subject_expired'],
      ]);
    });

    it('is refused after its key was withdrawn', async () => {
      const token = agent.subjectToken({ exp: mandate.clock.seconds() + 3600 });
      const lines = await mandate.recorded(async () => {
        expect((await exchange(token)).status).to.equal(200);
        await mandate.provider.rotateKeys();
        // The keys are fetched again: in the background, as every five minutes.
        mandate.clock.advance(301);
        expect((await exchange(agent.subjectToken({ sub: 'grace' }))).status).to.equal(200);
        expect((await exchange(token)).body.error).to.equal('invalid_grant');
      });
      expect(reasons(lines)).to.deep.equal([
        ['token.issued', 'allow', null],
        ['token.issued', 'allow', null],
        ['token.denied', 'deny', 'subject_unknown_key'],
      ]);
    });
  });
}
