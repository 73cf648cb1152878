/**
 * MCP programs of others, unmodified, at a tool that asks above a limit. Its list has only the tools that the token may call, and
 * a no comes with the words of the person, who signs in at a real provider and answers at the page.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { startGuard } from '../../../adapters/sdk/tool-server/guard/guard.ts';
import type { McpToolPolicy } from '../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { readGuardFile } from '../../../composition/guard/read-guard-file.ts';
import { browse, closeBrowser, devices } from '../../support/browser.ts';
import { type Door, oidcProvider } from '../../support/clients/doors.ts';
import { inspectorCommand, inspectorPage, startInspector } from '../../support/clients/inspector.ts';
import { mcpRemote, remoteFolder } from '../../support/clients/mcp-remote.ts';
import { protections } from '../../support/clients/protected-mcp.ts';
import { fieldsOf, JIRA } from '../../support/mandate.ts';
import { answerAtPage, type FormAnswer } from '../../support/me/asked-person.ts';
import { personBrowser } from '../../support/me/person-browser.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';
import { approvalSettings } from '../../support/tool-server/approval-request.ts';
import {
  client1,
  client2,
  type Paying,
  type PayingMcp,
  startPayingMcp,
  startUnguardedBank,
} from '../../support/tool-server/paying-mcp.ts';
import { startServer } from '../../support/tool-server/served-guard.ts';

/** The page of the inspector is wider than a small window. */
const WINDOW = { viewport: { width: 1500, height: 1000 } };
const LIMIT = 50;
const BELOW = { to: 'Bob', amount: LIMIT };
const ABOVE = { to: 'Bob', amount: LIMIT + 1 };
const LINE = 'Wrong account: use “PAY-8”';

const NO = `The person refused this call. The person's words: «${LINE}»`;
const APPROVED = ['requested', 'granted', 'used'].map((event) => [`approval.${event}`, 'allow']);
const REFUSED = [
  ['approval.requested', 'allow'],
  ['approval.refused', 'deny'],
];

/** The bank, and what is in front of it. */
interface Protected extends Pick<PayingMcp, 'endpoint' | 'paid'> {
  stop(): Promise<unknown>;
}

async function overCommand(endpoint: string, token: string): Promise<Paying> {
  const folder = remoteFolder();
  const remote = mcpRemote(endpoint, folder.path, ['--header', `Authorization: Bearer ${token}`]);
  await remote.connect();
  return {
    tools: remote.tools,
    call: (args, name = 'pay') => remote.result(name, args),
    async close() {
      await remote.close();
      folder.remove();
    },
  };
}

const programs: Readonly<Record<string, (endpoint: string, token: string) => Promise<Paying>>> = {
  'The client of SDK 1': (endpoint, token) => client1(endpoint, async () => token),
  'The client of SDK 2': (endpoint, token) => client2(endpoint, async () => token),
  'The client of SDK 2 with a handshake': (endpoint, token) =>
    client2(endpoint, async () => token, undefined, 'legacy'),
  'mcp-remote': overCommand,
  'The command line of the inspector': (endpoint, token) => inspectorCommand(endpoint, token, 'modern'),
  'The command line of the inspector with a handshake': (endpoint, token) =>
    inspectorCommand(endpoint, token, 'legacy'),
};

describe('A tool that asks above a limit', function () {
  this.timeout(180_000);
  let door: Door;
  let key: SigningKey;
  let folder: string;
  const banks: Record<string, Protected> = {};
  const now = () => door.mandate.clock.now() / 1000;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mandate-limit-'));
    key = await makeSigningKey('ES256');
    door = await oidcProvider.start(approvalSettings({ audience: JIRA, key }));
    banks['the tool-server library'] = await withLibrary();
    banks['the guard'] = await behindGuard();
  });
  after(async () => {
    for (const { stop } of Object.values(banks)) await stop();
    await closeBrowser();
    await door.stop();
    await rm(folder, { recursive: true });
  });

  function withLibrary(): Promise<Protected> {
    const { issuer } = door.mandate;
    const approvalKey = { jwk: { ...key.privateJwk } };
    const toolServer = createToolServer({ issuer, audience: JIRA, approvalKey, now, onAccess: () => undefined });
    const policy: McpToolPolicy = {
      scope: ['jira:read'],
      approval: ({ arguments: { to, amount } }) =>
        Number(amount) <= LIMIT
          ? 'not_needed'
          : { title: `Pay ${amount} to ${to}`, lines: [{ label: 'Recipient', value: `${to}` }] },
    };
    return startPayingMcp(toolServer, { policy, balance: 'jira:admin', list: 'allowed' });
  }

  async function behindGuard(): Promise<Protected> {
    const bare = await startUnguardedBank();
    await writeFile(join(folder, 'approvals.pem'), key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(
      join(folder, 'guard.yaml'),
      `issuer: ${door.mandate.issuer}
audience: ${JIRA}
mode: proxy
upstream: ${new URL(bare.endpoint).origin}
approval_key: approvals.pem
mcp:
  path: /mcp
  list: allowed
  tools:
    balance: {scope: [jira:admin]}
    pay:
      scope: [jira:read]
      approval:
        title: Pay
        lines: {Recipient: $.to, Amount: $.amount}
        unless: {type: object, required: [amount], properties: {amount: {type: number, maximum: ${LIMIT}}}}
`,
    );
    const file = await readGuardFile(join(folder, 'guard.yaml'));
    if (file.kind !== 'usable') return expect.fail(file.faults.join());
    const { address, stop } = await startGuard(
      { ...file.configuration, listen: { host: '127.0.0.1', port: 0 } },
      { onAccess: () => undefined, onError: () => undefined, now, startServer },
    );
    return {
      endpoint: `http://127.0.0.1:${address.port}/mcp`,
      paid: bare.paid,
      stop: () => stop().then(bare.stop),
    };
  }

  /** A bank without payments, and a token of a new task. */
  async function begun(by: string) {
    const bank = banks[by] ?? expect.fail(by);
    bank.paid.length = 0;
    const { body } = await (await door.mandate.agent()).exchange({ scope: 'jira:read' });
    return { bank, token: `${body.access_token}` };
  }
  const recorded = async (act: () => Promise<void>) => {
    const records = fieldsOf(await door.mandate.recorded(act), 'event', 'decision');
    return records.filter(([event]) => `${event}`.startsWith('approval.'));
  };

  for (const by of protections) {
    for (const [name, connect] of Object.entries(programs)) {
      it(`${name} sees at ${by} what the token may call, is asked above the limit only, and gets the person’s words`, async () => {
        const { mandate } = door;
        const { bank, token } = await begun(by);
        const person = personBrowser(mandate);
        const program = await connect(bank.endpoint, token);
        const answers = async (args: typeof ABOVE, answer: FormAnswer) => {
          const waiting = await program.call(args);
          const [, uri = ''] = /waiting for (\S+); call again/.exec(waiting.text) ?? [];
          expect(waiting.isError).to.equal(true);
          await answerAtPage(mandate, person, uri, 'Bob', answer);
          return program.call(args);
        };
        try {
          expect(await program.tools()).to.deep.equal(['pay']);

          const below = await recorded(async () => {
            expect(await program.call(BELOW)).to.deep.equal({ text: 'Paid 50 to Bob', isError: false });
          });
          expect(below).to.deep.equal([]);

          const approved = await recorded(async () => {
            expect(await answers(ABOVE, { decision: 'approve' })).to.deep.equal({
              text: 'Paid 51 to Bob',
              isError: false,
            });
          });
          expect(approved).to.deep.equal(APPROVED);

          const refused = await recorded(async () => {
            expect(await answers({ to: 'Bob', amount: 900 }, { decision: 'refuse', reason: LINE })).to.deep.equal({
              text: NO,
              isError: true,
            });
          });
          expect(refused).to.deep.equal(REFUSED);
          expect(bank.paid.map(({ args }) => args)).to.deep.equal([BELOW, ABOVE]);
        } finally {
          await program.close();
        }
      });
    }

    it(`The page of the inspector at ${by} opens the question for the person, within the call that is above the limit`, async () => {
      const { bank, token } = await begun(by);
      const headers = { Authorization: `Bearer ${token}` };
      const program = await startInspector(bank.endpoint, { headers, protocolEra: 'modern' });
      const context = await browse({ ...devices.desktop, ...WINDOW });
      const page = await context.newPage();
      const inspector = inspectorPage(page);
      const pay = (amount: number) => inspector.run('pay', { to: 'Bob', amount: `${amount}` });
      try {
        await page.goto(program.address);
        await inspector.connect();
        expect(await inspector.tools()).to.deep.equal(['pay']);
        const below = await recorded(async () => {
          await pay(LIMIT);
          await inspector.answered('Paid 50 to Bob');
        });
        expect(below).to.deep.equal([]);

        const approved = await recorded(async () => {
          await pay(LIMIT + 1);
          const question = await inspector.openAsked();
          await door.signIn(question, false);
          await question.getByRole('button', { name: /^Yes, once/ }).click();
          await question.getByText(/^You said yes: /).waitFor();
          await inspector.goOn();
          await inspector.answered('Paid 51 to Bob');
        });
        expect(approved).to.deep.equal(APPROVED);

        const refused = await recorded(async () => {
          await pay(900);
          const question = await inspector.openAsked();
          await question.getByLabel('Why not? (optional)').fill(LINE);
          await question.getByRole('button', { name: /^No/ }).click();
          await question.getByText(/^You said no: /).waitFor();
          await inspector.goOn();
          await inspector.answered(NO);
        });
        expect(refused).to.deep.equal(REFUSED);
        expect(bank.paid.map(({ args }) => args)).to.deep.equal([BELOW, ABOVE]);
      } finally {
        await context.close();
        await program.stop();
      }
    });
  }
});
