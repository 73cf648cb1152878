/** The examples of tool servers that ask for approvals without our library, with the real service. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { TestDatabase } from '../databases.ts';
import { type ExamplePlace, type ExampleServer, startExample } from '../example-process.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../mandate.ts';
import { makeSigningKey } from '../signing-key.ts';
import { approvalSettings } from './approval-request.ts';

/** Declares the tests of an example that deletes pages, each after a person's yes. */
export function deletesPagesAfterApprovals(name: string, database: TestDatabase, place?: ExamplePlace): void {
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let server: ExampleServer;
  let folder: string;

  before(async () => {
    const key = await makeSigningKey('ES256');
    folder = await mkdtemp(join(tmpdir(), 'mandate-approvals-'));
    const keyFile = join(folder, 'key.json');
    await writeFile(keyFile, JSON.stringify(key.privateJwk));
    mandate = await startMandate({
      database,
      issuer: 'own-address',
      settings: {
        ...approvalSettings({ audience: JIRA, key }),
        'Service:Me:ClientId': 'the-page',
      },
    });
    server = await startExample(name, { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA, APPROVAL_KEY: keyFile }, place);
    agent = await mandate.agent({ allowed_scopes: ['pages:delete', 'jira:read'] });
  });
  after(async () => {
    await server?.stop();
    await mandate.stop();
    await rm(folder, { recursive: true });
  });

  async function tokenWith(scope = 'pages:delete', claims: object = {}): Promise<string> {
    const issued = await agent.exchangeFor({ scope, ...claims }, { scope });
    return String(issued.body.access_token);
  }
  async function remove(token: string, page = 'budget-2027') {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${server.url}/pages/${page}`, { method: 'DELETE', headers });
    const body = (await answer.json()) as Readonly<Record<string, unknown>>;
    if (body.reason === 'approval_required') expect(answer.headers.get('retry-after')).to.equal('5');
    return [answer.status, body.deleted ?? body.error, String(body.approval_uri).split('/').at(-1) ?? ''] as const;
  }

  it('deletes a page once for a yes, and never for a no', async () => {
    const token = await tokenWith();
    const lines = await mandate.recorded(async () => {
      const [status, error, id] = await remove(token);
      expect([status, error]).to.deep.equal([403, 'approval_required']);
      expect(await mandate.approval(id)).to.include({ title: 'Delete the page budget-2027' });
      expect(await mandate.answer(id, 'approve')).to.equal('granted');
      expect((await remove(token, 'another')).slice(0, 2)).to.deep.equal([403, 'approval_required']);
      expect((await remove(token)).slice(0, 2)).to.deep.equal([200, 'budget-2027']);
      expect((await remove(token)).slice(0, 2)).to.deep.equal([403, 'approval_spent']);
    });
    const events = fieldsOf(lines, 'event').flat();
    expect(events.filter((event) => String(event).startsWith('approval.'))).to.deep.equal([
      'approval.requested',
      'approval.granted',
      'approval.requested',
      'approval.used',
    ]);
    const [, , other] = await remove(token, 'minutes');
    await mandate.answer(other, 'refuse');
    expect((await remove(token, 'minutes')).slice(0, 2)).to.deep.equal([403, 'approval_refused']);
  });

  it('asks no person for a token that does not allow the call', async () => {
    const [wrongScope, good] = [await tokenWith('jira:read'), await tokenWith()];
    const lines = await mandate.recorded(async () => {
      expect((await remove(wrongScope))[0]).to.equal(403);
      expect((await remove(`${good.slice(0, -8)}AAAAAAAA`))[0]).to.equal(401);
      expect((await remove(good.split('.').slice(0, 2).join('.')))[0]).to.equal(401);
      await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { enabled: false });
      expect((await remove(good))[0]).to.equal(401);
    });
    expect(
      fieldsOf(lines, 'event')
        .flat()
        .filter((event) => String(event).startsWith('approval.')),
    ).to.deep.equal([]);
  });
}
