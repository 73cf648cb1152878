/** `Service:UpstreamIdp:ScopeClaim`: the person's scopes are in a claim that the operator names. */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { fieldsOf, startMandate, withService } from '../support/mandate.ts';

it('reads the scopes of the person from the claim that ScopeClaim names, and from no other', async () => {
  const settings = { 'Service:UpstreamIdp:ScopeClaim': 'permissions' };
  const [database] = databases;
  if (database === undefined) throw new Error('There is no database.');
  await withService(startMandate({ database, settings }), async (mandate) => {
    const agent = await mandate.agent();
    const exchange = (claims: Readonly<Record<string, unknown>>) =>
      mandate.post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken(claims) }));
    const { scope } = (await agent.exchange()).body;
    expect(scope, 'the scope claim alone grants nothing').to.equal(undefined);
    const [held = ''] = String(agent.exchangeForm().scope).split(' ');
    const granted = await exchange({ scope: 'nothing:here', permissions: [held, 'jira:other'] });
    expect([granted.status, granted.body.scope]).to.deep.equal([200, held]);
    const lines = await mandate.recorded(async () => {
      const refused = await exchange({ scope: held, permissions: null });
      expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_scope']);
    });
    expect(fieldsOf(lines, 'decision', 'reason', 'agent_id')).to.deep.equal([
      ['deny', 'scope_intersection_empty', agent.id],
    ]);
  });
});
