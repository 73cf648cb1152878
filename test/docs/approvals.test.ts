/** Compares docs/approvals.md with the code, and runs its tool server with the real service. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createAgent } from '../../adapters/sdk/agent/agent.ts';
import { refusalReasons } from '../../adapters/sdk/tool-server/core/refusal.ts';
import { MAX_LABEL, MAX_LINES, MAX_TITLE, MAX_VALUE } from '../../domain/approvals/approval-request.ts';
import { sqliteFile } from '../support/databases.ts';
import { startExample } from '../support/example-process.ts';
import { JIRA, startMandate } from '../support/mandate.ts';
import { makeSigningKey } from '../support/signing-key.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const page = await readFile(at('docs/approvals.md'), 'utf8');

describe('docs/approvals.md', () => {
  it('shows only lines of the examples', async () => {
    const shown = [...page.matchAll(/^<!-- from (\S+) -->\n```\w+\n(.*?)^```$/gms)];
    expect(shown).not.to.have.lengthOf(0);
    for (const [, name = '', code = ''] of shown) {
      const example = await readFile(at(name), 'utf8');
      for (const line of code.split('\n').filter((text) => text.trim() !== '')) expect(example).to.include(`${line}\n`);
    }
  });

  it('names every answer of a tool server, and the limits of a description', () => {
    for (const reason of refusalReasons.filter((one) => one.startsWith('approval_')))
      expect(page).to.include(`\`${reason}\``);
    const words = page.replaceAll(/\s+/g, ' ');
    expect(words).to.include(
      `\`title\` has at most ${MAX_TITLE} characters, \`lines\` has at most ${MAX_LINES} entries`,
    );
    expect(words).to.include(`with at most ${MAX_LABEL} and ${MAX_VALUE},`);
  });

  it('has a tool server that pays once after a yes, and asks no person about what is no payment', async function () {
    this.timeout(60_000);
    const key = await makeSigningKey('ES256');
    const folder = await mkdtemp(join(tmpdir(), 'mandate-approvals-'));
    const keyFile = join(folder, 'key.json');
    await writeFile(keyFile, JSON.stringify(key.privateJwk));
    const mandate = await startMandate({
      database: sqliteFile,
      issuer: 'own-address',
      settings: {
        'Service:Approvals:Enabled': 'true',
        'Service:Me:ClientId': 'the-page',
        'Service:Approvals:Resources:0:Audience': JIRA,
        'Service:Approvals:Resources:0:Jwks': JSON.stringify({ keys: [key.publicJwk] }),
      },
    });
    const environment = { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA, APPROVAL_KEY: keyFile };
    const { url, stop } = await startExample('approvals-tool-server.ts', environment);
    try {
      const registered = await mandate.agent({ allowed_scopes: ['payments:write'] });
      const agent = createAgent({
        issuer: mandate.issuer,
        agentId: registered.id,
        key: { jwk: { ...registered.key.privateJwk } },
        clock: { now: Date.now, sleep: () => Promise.resolve(), random: () => 0 },
      });
      const asked: string[] = [];
      const task = await agent.startTask({
        subjectToken: mandate.provider.mintAccessToken({ scope: 'payments:write' }),
        resource: JIRA,
        scope: ['payments:write'],
        origins: [url],
        async onApproval(uri) {
          const id = uri.slice(`${mandate.issuer}/me/approvals/`.length);
          const { title, lines } = await mandate.approval(id);
          asked.push(JSON.stringify([title, ...lines]));
          await mandate.answer(id, 'approve');
        },
      });
      const pay = async (payment: object) => {
        const headers = { 'content-type': 'application/json' };
        const answer = await task.fetch(`${url}/payments`, { method: 'POST', headers, body: JSON.stringify(payment) });
        const { reason, ...body } = (await answer.json()) as Readonly<Record<string, unknown>>;
        return [answer.status, reason ?? body];
      };
      const payment = { to: 'Bob', amount: 12, currency: 'EUR' };
      expect(await pay(payment)).to.deep.equal([200, { paid: '12 EUR', to: 'Bob', paidFor: 'ada' }]);
      expect(await pay(payment)).to.deep.equal([403, 'approval_spent']);
      expect(await pay({ ...payment, amount: '12' })).to.deep.equal([403, 'arguments_refused']);
      expect(asked).to.deep.equal(['["Pay 12 EUR",{"label":"To","value":"Bob"}]']);
    } finally {
      await stop();
      await mandate.stop();
      await rm(folder, { recursive: true });
    }
  });
});
