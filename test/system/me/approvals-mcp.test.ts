/**
 * The official MCP clients, unmodified: they get a token for the person, call a tool, and wait for the person, who signs in at
 * a real provider, reads the page, and answers.
 */

import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { type Agent, createAgent } from '../../../adapters/sdk/agent/agent.ts';
import { type McpAuthorization, mcpAuthorization } from '../../../adapters/sdk/agent/mcp/mcp.ts';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { databasesByLength } from '../../support/databases.ts';
import { ada } from '../../support/identity-provider/people.ts';
import { fieldsOf } from '../../support/mandate.ts';
import { answerAtPage } from '../../support/me/asked-person.ts';
import {
  type PageWithProvider,
  type PersonBrowser,
  personBrowser,
  startWithPage,
} from '../../support/me/person-browser.ts';
import { makeSigningKey } from '../../support/signing-key.ts';
import { approvalSettings } from '../../support/tool-server/approval-request.ts';
import {
  client1,
  client2,
  type OpenPage,
  type Paying,
  type PayingMcp,
  startPayingMcp,
} from '../../support/tool-server/paying-mcp.ts';

const ARGS = { to: 'Bob', amount: 12 };
const OTHER = { to: 'Bob', amount: 13 };
const PAID = { text: 'Paid 12 to Bob', isError: false };
const REFUSED = { text: 'The person refused this call.', isError: true };

for (const database of databasesByLength) {
  describe(`The official MCP clients and a person at the page, on ${database.name}`, function () {
    this.timeout(60_000);
    let running: PageWithProvider;
    let agent: Agent;
    let bank: PayingMcp;
    let person: PersonBrowser;
    const closing: (() => Promise<unknown>)[] = [];

    before(async () => {
      const key = await makeSigningKey('ES256');
      const port = await freePort();
      const audience = `http://127.0.0.1:${port}/mcp`;
      running = await startWithPage(database, {
        ...approvalSettings({ audience, key }),
      });
      const { issuer, clock } = running.mandate;
      // The provider dates the sign-in by the real clock.
      clock.advance(Math.round((Date.now() - clock.now() / 1000) / 1000));
      const toolServer = createToolServer({
        issuer,
        audience,
        approvalKey: { jwk: { ...key.privateJwk } },
        now: () => clock.now() / 1000,
        onAccess: () => undefined,
      });
      bank = await startPayingMcp(toolServer, { port });
      const registered = await running.mandate.agent({ allowed_audiences: [audience], high_risk_audiences: [] });
      agent = createAgent({
        issuer,
        agentId: registered.id,
        key: { jwk: { ...registered.key.privateJwk } },
        clock: { now: () => clock.seconds() * 1000, sleep: () => Promise.resolve(), random: () => 0 },
      });
    });
    beforeEach(() => {
      bank.paid.length = 0;
      person = personBrowser(running.mandate);
    });
    afterEach(async () => {
      for (const close of closing.splice(0)) await close().catch(() => undefined);
    });
    after(async () => {
      await bank.stop();
      await running.stop();
    });

    async function connected(connect: (authorization: McpAuthorization) => Promise<Paying>): Promise<Paying> {
      const { provider, clock } = running.mandate;
      const subjectToken = provider.mintAccessToken({ exp: clock.seconds() + 3600 });
      const authorization = mcpAuthorization({ agent, subjectToken, scope: ['jira:read'] });
      closing.push(() => authorization.end());
      const client = await connect(authorization);
      closing.push(() => client.close());
      return client;
    }

    const answers = (uri: string, decision: 'approve' | 'refuse', title: string) =>
      answerAtPage(running.mandate, person, uri, title, { decision });
    const recorded = async (act: () => Promise<unknown>) =>
      fieldsOf(await running.mandate.recorded(act), 'event', 'sponsor').filter(([event]) =>
        `${event}`.startsWith('approval.'),
      );
    const ofAda = (...events: string[]) => events.map((event) => [`approval.${event}`, ada.username]);

    const sessions = () => `${bank.endpoint}/sessions`;
    const KINDS: readonly (readonly [string, (authorization: McpAuthorization, open: OpenPage) => Promise<Paying>])[] =
      [
        ['SDK 2', (authorization, open) => client2(bank.endpoint, authorization, open)],
        ['SDK 2 in a session', (authorization, open) => client2(sessions(), authorization, open, 'legacy')],
        ['SDK 1 in a session', (authorization, open) => client1(sessions(), authorization, open)],
      ];
    for (const [kind, connect] of KINDS) {
      it(`get one answer after one call of ${kind}, which opens the page: paid after a yes, refused after a no`, async () => {
        let decision: 'approve' | 'refuse' = 'approve';
        const opened: string[] = [];
        const client = await connected((authorization) =>
          connect(authorization, async (uri) => {
            opened.push(uri);
            await answers(uri, decision, decision === 'approve' ? 'Pay 12 to Bob' : 'Pay 13 to Bob');
            return 'accept';
          }),
        );
        expect(await recorded(async () => expect(await client.call(ARGS)).to.deep.equal(PAID))).to.deep.equal(
          ofAda('requested', 'granted', 'used'),
        );
        decision = 'refuse';
        expect(await recorded(async () => expect(await client.call(OTHER)).to.deep.equal(REFUSED))).to.deep.equal(
          ofAda('requested', 'refused'),
        );
        expect([opened.length, bank.paid]).to.deep.equal([2, [{ args: ARGS, input: undefined }]]);
      });
    }

    for (const [kind, connect] of [
      ['SDK 2', (authorization: McpAuthorization) => client2(bank.endpoint, authorization)],
      ['SDK 1', (authorization: McpAuthorization) => client1(bank.endpoint, authorization)],
    ] as const) {
      it(`of ${kind} lose no question and no yes when another tool refuses them for good`, async () => {
        const client = await connected(connect);
        const refused = async () => {
          const error = await client.call({}, 'forgotten').catch((error: Error) => error);
          expect(error)
            .to.be.instanceOf(Error)
            .and.have.property('message')
            .that.includes('No policy lets anybody use this tool.');
        };
        const events = await recorded(async () => {
          const [, uri = ''] = /waiting for (\S+); call again/.exec((await client.call(ARGS)).text) ?? [];
          await refused();
          await answers(uri, 'approve', 'Pay 12 to Bob');
          await refused();
          expect(await client.call(ARGS)).to.deep.equal(PAID);
        });
        expect(events).to.deep.equal(ofAda('requested', 'granted', 'used'));
      });
    }

    it('of SDK 1 get the address in an ordinary result, and the answer from the same call after the yes', async () => {
      const client = await connected((authorization) => client1(bank.endpoint, authorization));
      const events = await recorded(async () => {
        const waiting = await client.call(ARGS);
        const [, uri = ''] = /waiting for (\S+); call again/.exec(waiting.text) ?? [];
        expect([waiting.isError, (await client.call(ARGS)).text]).to.deep.equal([true, waiting.text]);
        await answers(uri, 'approve', 'Pay 12 to Bob');
        expect(await client.call(ARGS)).to.deep.equal(PAID);
      });
      expect(events).to.deep.equal(ofAda('requested', 'granted', 'used'));
      expect(bank.paid).to.deep.equal([{ args: ARGS, input: undefined }]);
    });

    // The last one, because the sign-ins are too old for a yes afterwards.
    it('of SDK 1 in a session, which never open the page, are asked anew when the question has expired', async () => {
      const asked: string[] = [];
      const client = await connected((authorization) => client1(sessions(), authorization, async () => 'decline'));
      const events = await recorded(async () => {
        for (const seconds of [0, 10 * 60 + 1, 0]) {
          running.mandate.clock.advance(seconds);
          const error = await client.call(ARGS).catch((error: unknown) => error);
          if (!(error instanceof UrlElicitationRequiredError)) throw error;
          asked.push(...error.elicitations.map(({ elicitationId }) => elicitationId));
        }
      });
      expect(events).to.deep.equal(ofAda('requested', 'expired', 'requested'));
      const [first, second, third] = asked;
      expect([second === third, first === second, bank.paid]).to.deep.equal([true, false, []]);
    });
  });
}
