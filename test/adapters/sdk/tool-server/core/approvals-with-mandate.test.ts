/** Approvals with the real service: the official MCP clients and `task.fetch` wait for a person's yes, and get their answer. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import express from 'express';
import { type Agent, createAgent, type StartTask, type Task } from '../../../../../adapters/sdk/agent/agent.ts';
import { createToolServer, type ToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { startGuard } from '../../../../../adapters/sdk/tool-server/guard/guard.ts';
import { readGuardFile } from '../../../../../composition/guard/read-guard-file.ts';
import { databases } from '../../../../support/databases.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../../../support/mandate.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import { approvalSettings } from '../../../../support/tool-server/approval-request.ts';
import {
  client1,
  client2,
  type Paying,
  type PayingMcp,
  startPayingMcp,
  startUnguardedBank,
} from '../../../../support/tool-server/paying-mcp.ts';
import { startServer } from '../../../../support/tool-server/served-guard.ts';

const ARGS = { to: 'Bob', amount: 12 };
const PAID = { text: 'Paid 12 to Bob', isError: false };
const REFUSED = { text: 'The person refused this call.', isError: true };

for (const database of databases) {
  describe(`Calls that a person approves, with the real service on ${database.name}`, () => {
    let mandate: Mandate;
    let registered: RegisteredAgent;
    let key: SigningKey;
    let toolServer: ToolServer;
    let bank: PayingMcp;
    const closing: (() => Promise<unknown>)[] = [];

    before(async () => {
      key = await makeSigningKey('ES256');
      mandate = await startMandate({
        database,
        issuer: 'own-address',
        settings: {
          ...approvalSettings({ audience: JIRA, key }),
          'Service:Me:ClientId': 'the-page',
        },
      });
      // An approval is spent for exactly ten seconds, which a test lets pass.
      mandate.clock.standStill();
      toolServer = createToolServer({
        issuer: mandate.issuer,
        audience: JIRA,
        approvalKey: { jwk: { ...key.privateJwk } },
        now: () => mandate.clock.now() / 1000,
        onAccess: () => undefined,
      });
      bank = await startPayingMcp(toolServer);
      registered = await mandate.agent();
    });
    beforeEach(() => {
      bank.paid.length = 0;
    });
    afterEach(async () => {
      for (const close of closing.splice(0)) await close().catch(() => undefined);
    });
    after(async () => {
      await bank.stop();
      await mandate.stop();
    });

    function agentWith(sleep: (ms: number) => Promise<void>): Agent {
      return createAgent({
        issuer: mandate.issuer,
        agentId: registered.id,
        key: { jwk: { ...registered.key.privateJwk } },
        clock: { now: () => mandate.clock.seconds() * 1000, sleep, random: () => 0 },
      });
    }
    const pass = async (ms: number) => mandate.clock.advance(Math.ceil(ms / 1000));
    async function started(options: Partial<StartTask> = {}, agent = agentWith(pass)): Promise<Task> {
      const subjectToken = registered.subjectToken({ exp: mandate.clock.seconds() + 7200 });
      const task = await agent.startTask({ subjectToken, resource: JIRA, scope: ['jira:read'], ...options });
      closing.push(() => task.end());
      return task;
    }
    async function connected(client: Promise<Paying>): Promise<Paying> {
      const one = await client;
      closing.push(() => one.close());
      return one;
    }
    const idIn = (text: string) => /\/me\/approvals\/(\w+)/.exec(text)?.[1] ?? expect.fail(text);
    const events = async (act: () => Promise<unknown>) =>
      fieldsOf(await mandate.recorded(act), 'event', 'decision').filter(([event]) =>
        `${event}`.startsWith('approval.'),
      );
    const ONCE = ['requested', 'granted', 'used'].map((event) => [`approval.${event}`, 'allow']);

    for (const [name, connect] of [
      ['SDK 2', (token: () => Promise<string>) => client2(bank.endpoint, token)],
      ['SDK 1', (token: () => Promise<string>) => client1(bank.endpoint, token)],
    ] as const) {
      it(`go through once after the yes, and not after a no, for the client of ${name}`, async () => {
        const task = await started();
        const client = await connected(connect(() => task.token()));
        const recorded = await events(async () => {
          const waiting = await client.call(ARGS);
          expect(waiting).to.include({ isError: true });
          expect(await mandate.approval(idIn(waiting.text))).to.deep.include({
            title: 'Pay 12 to Bob',
            lines: [{ label: 'Recipient', value: 'Bob' }],
            taskId: task.id,
          });
          expect(await mandate.answer(idIn(waiting.text), 'approve')).to.equal('granted');
          expect(await client.call(ARGS)).to.deep.equal(PAID);
          expect((await client.call(ARGS)).text).to.include('was used');
        });
        expect(recorded).to.deep.equal(ONCE);
        const other = await client.call({ ...ARGS, amount: 13 });
        expect(await mandate.answer(idIn(other.text), 'refuse')).to.equal('refused');
        expect(await client.call({ ...ARGS, amount: 13 })).to.deep.equal(REFUSED);
        expect(bank.paid).to.deep.equal([{ args: ARGS, input: undefined }]);
      });
    }

    it('make a client that opens URLs wait for the yes within one call', async () => {
      const task = await started();
      const open = async (url: string) => {
        expect(url).to.match(new RegExp(`^${mandate.issuer}/me/approvals/`));
        await mandate.answer(idIn(url), 'approve');
        return 'accept' as const;
      };
      const client = await connected(client2(bank.endpoint, () => task.token(), open));
      expect(await events(() => client.call(ARGS).then((answer) => expect(answer).to.deep.equal(PAID)))).to.deep.equal(
        ONCE,
      );
    });

    it('run once for one yes, however many callers there are at once', async () => {
      const task = await started();
      const client = await connected(client2(bank.endpoint, () => task.token()));
      const waiting = await Promise.all(Array.from({ length: 5 }, () => client.call(ARGS)));
      expect(new Set(waiting.map(({ text }) => idIn(text)))).to.have.property('size', 1);
      await mandate.answer(idIn(waiting[0]?.text ?? ''), 'approve');
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.call(ARGS)));
      expect(answers.filter(({ text }) => text === PAID.text)).to.have.lengthOf(1);
      expect(bank.paid).to.have.lengthOf(1);
    });

    it('are refused with 401 once their task has ended, also with a yes', async () => {
      const task = await started();
      const token = await task.token();
      const client = await connected(client1(bank.endpoint, async () => token));
      const waiting = await client.call(ARGS);
      await mandate.answer(idIn(waiting.text), 'approve');
      expect(await events(() => mandate.admin('DELETE', `/admin/tasks/${task.id}`))).to.deep.equal([
        ['approval.withdrawn', 'allow'],
      ]);
      const code = await client.call(ARGS).then(
        () => 0,
        (error: { readonly code: unknown }) => error.code,
      );
      expect([code, bank.paid]).to.deep.equal([401, []]);
    });

    it('do not run if the answer that granted them was lost, and then ask the person again', async () => {
      const task = await started();
      let isLost = false;
      const losing = createToolServer({
        issuer: mandate.issuer,
        audience: JIRA,
        approvalKey: { jwk: { ...key.privateJwk } },
        now: () => mandate.clock.now() / 1000,
        onAccess: () => undefined,
        async fetch(input, init) {
          const answer = await fetch(input, init);
          if (isLost) throw new Error('The connection was cut.');
          return answer;
        },
      });
      const other = await startPayingMcp(losing);
      closing.push(() => other.stop());
      const client = await connected(client1(other.endpoint, () => task.token()));
      const waiting = await client.call(ARGS);
      await mandate.answer(idIn(waiting.text), 'approve');
      isLost = true;
      const recorded = await events(() => client.call(ARGS).catch(({ code }) => expect(code).to.equal(503)));
      expect(recorded).to.deep.equal([['approval.used', 'allow']]);
      isLost = false;
      expect((await client.call(ARGS)).text).to.include('was used');
      mandate.clock.advance(10);
      expect(idIn((await client.call(ARGS)).text)).not.to.equal(idIn(waiting.text));
      expect(other.paid).to.deep.equal([]);
    });

    it('go through the guard once after the yes, with the key in a file, to a route and to a tool', async () => {
      const bare = await startUnguardedBank();
      const folder = await mkdtemp(join(tmpdir(), 'mandate-guard-'));
      closing.push(
        () => bare.stop(),
        () => rm(folder, { recursive: true }),
      );
      await writeFile(join(folder, 'approvals.pem'), key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const approval = 'approval: {title: Pay, lines: {Recipient: $.to, Amount: $.amount}}';
      await writeFile(
        join(folder, 'guard.yaml'),
        `issuer: ${mandate.issuer}
audience: ${JIRA}
mode: proxy
upstream: ${new URL(bare.endpoint).origin}
approval_key: approvals.pem
mcp: {path: /mcp, tools: {pay: {scope: [jira:read], ${approval}}}}
routes: [{match: POST /payments, scope: [jira:read], ${approval}}]
`,
      );
      const file = await readGuardFile(join(folder, 'guard.yaml'));
      if (file.kind !== 'usable') return expect.fail(file.faults.join());
      const { address, stop } = await startGuard(
        { ...file.configuration, listen: { host: '127.0.0.1', port: 0 } },
        { onAccess: () => undefined, onError: () => undefined, now: () => mandate.clock.now() / 1000, startServer },
      );
      closing.unshift(stop);
      const url = `http://127.0.0.1:${address.port}`;

      const task = await started();
      const client = await connected(client1(`${url}/mcp`, () => task.token()));
      const recorded = await events(async () => {
        const waiting = await client.call(ARGS);
        expect(await mandate.approval(idIn(waiting.text))).to.deep.include({
          title: 'Pay',
          lines: [
            { label: 'Recipient', value: 'Bob' },
            { label: 'Amount', value: '12' },
          ],
        });
        await mandate.answer(idIn(waiting.text), 'approve');
        expect(await client.call(ARGS)).to.deep.equal(PAID);
        expect((await client.call(ARGS)).text).to.include('was used');
      });
      expect(recorded).to.deep.equal(ONCE);
      expect(bare.paid).to.deep.equal([{ args: ARGS, input: undefined }]);

      const pay = async () => {
        const headers = { authorization: `Bearer ${await task.token()}`, 'content-type': 'application/json' };
        const answer = await fetch(`${url}/payments`, { method: 'POST', headers, body: JSON.stringify(ARGS) });
        return [answer.status, await answer.text()] as const;
      };
      const ofRoute = await events(async () => {
        const [status, text] = await pay();
        expect([status, JSON.parse(text).reason]).to.deep.equal([403, 'approval_required']);
        expect((await mandate.approval(idIn(text)))?.lines[0]).to.deep.equal({
          label: 'Request',
          value: 'POST /payments',
        });
        await mandate.answer(idIn(text), 'approve');
        // The bank has no such route, and says so.
        expect((await pay())[0]).to.equal(404);
        expect((await pay())[1]).to.include('approval_spent');
      });
      expect(ofRoute).to.deep.equal(ONCE);
    });

    it('of a web framework make task.fetch wait until the person has answered', async () => {
      const app = express();
      const protect = expressProtection(toolServer);
      const approval = ({ body }: { readonly body: unknown }) => ({ title: `Pay ${(body as typeof ARGS).amount}` });
      app.post(
        '/pay',
        protect({ scope: ['jira:read'], approval }),
        (request, response) => void response.json(request.body),
      );
      const server = createServer(app);
      const url = `http://127.0.0.1:${await listen(server)}`;
      closing.push(() => closeServer(server));

      let polls = 0;
      let waiting = '';
      const answered = async (ms: number) => {
        await pass(ms);
        // The person takes two polls to answer.
        if (++polls === 2) await mandate.answer(idIn(waiting), 'approve');
      };
      const onApproval = (uri: string) => {
        waiting = uri;
      };
      const task = await started({ onApproval, origins: [url] }, agentWith(answered));
      const init = { method: 'POST', body: JSON.stringify(ARGS), headers: { 'content-type': 'application/json' } };
      const recorded = await events(async () => {
        const answer = await task.fetch(`${url}/pay`, init);
        expect([answer.status, await answer.json(), polls]).to.deep.equal([200, ARGS, 2]);
      });
      expect(recorded).to.deep.equal(ONCE);
    });
  });
}
