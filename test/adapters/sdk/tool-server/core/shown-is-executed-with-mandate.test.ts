/**
 * The property of shown-is-executed.test.ts with the real service and real HTTP, on Express, Fastify and MCP: the ledger and
 * the stored words say what was approved, and each handler what it got.
 */

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect } from 'chai';
import express from 'express';
import fc from 'fast-check';
import fastify from 'fastify';
import { z } from 'zod';
import type { HttpCall } from '../../../../../adapters/sdk/tool-server/core/approval-text.ts';
import { sha256 } from '../../../../../adapters/sdk/tool-server/core/call-digest.ts';
import { createToolServer, type ToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { mandateProtection } from '../../../../../adapters/sdk/tool-server/fastify/fastify.ts';
import { mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { databasesByLength } from '../../../../support/databases.ts';
import { byLength } from '../../../../support/length.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../../../support/mandate.ts';
import { makeSigningKey } from '../../../../support/signing-key.ts';
import { anyArgumentsText, sorted } from '../../../../support/tool-server/any-arguments.ts';
import { approvalSettings } from '../../../../support/tool-server/approval-request.ts';

const RUNS = byLength({ short: 4, full: 60 });
const SURFACES = ['express', 'fastify', 'mcp'] as const;
/** The header that tells the test which call a handler got. Headers are in no digest. */
const CALL = 'x-call';

interface Call {
  readonly surface: (typeof SURFACES)[number];
  readonly method: 'POST' | 'PUT';
  /** The web frameworks have the same paths, so that a yes can be used at either. */
  readonly target: string;
  /** The arguments, or the body. */
  readonly text: string;
}
type Act =
  | { readonly kind: 'call'; readonly nth: number }
  | { readonly kind: 'answer'; readonly nth: number; readonly answer: 'approve' | 'refuse' };

const anyCallOf = (surface: Call['surface']): fc.Arbitrary<Call> =>
  fc.record({
    surface: fc.constant(surface),
    method: fc.constantFrom('POST', 'POST', 'PUT'),
    target: fc.constantFrom('/pay/1', '/pay/1', '/pay/1?x', '/pay/%31'),
    text: anyArgumentsText,
  });
const aCall = fc.record({ kind: fc.constant('call' as const), nth: fc.nat({ max: 3 }) });
const anAnswer = fc.record({
  kind: fc.constant('answer' as const),
  nth: fc.nat({ max: 3 }),
  answer: fc.constantFrom('approve', 'approve', 'approve', 'approve', 'refuse'),
});
const acts = fc.oneof({ weight: 2, arbitrary: aCall }, { weight: 1, arbitrary: anAnswer });
/** Acts of a round run at once. After each round, what was used can be asked for again. */
const anyHistory = fc.record({
  calls: fc.tuple(...SURFACES.map(anyCallOf), fc.constantFrom(...SURFACES).chain(anyCallOf)),
  rounds: fc.array(fc.array<Act>(acts, { minLength: 3, maxLength: 8 }), { minLength: 4, maxLength: 8 }),
});
/** At the end of each history, every call that waits is approved, and sent twice more. */
const EVERY_CALL: readonly Act[] = [0, 1, 2, 3].map((nth) => ({ kind: 'call', nth }));
const EVERY_YES: readonly Act[] = EVERY_CALL.map((_, nth) => ({ kind: 'answer', nth, answer: 'approve' }));
const LAST = [EVERY_CALL, EVERY_YES, [...EVERY_CALL, ...EVERY_CALL]];

/** What the person reads: a hash over all that the handler can see of the call. It fits every limit. */
const shown = (surface: Call['surface'], of: object) =>
  sha256(sorted(surface === 'mcp' ? { tool: 'pay', ...of } : { http: true, ...of }));

/** As docs/approvals.md defines it. Written anew, so that it does not repeat the library. */
function digestOf({ surface, method, target, text }: Call): string {
  const call =
    surface === 'mcp'
      ? { audience: JIRA, tool: 'pay', arguments: JSON.parse(text) as unknown }
      : { audience: JIRA, method, target, body: sha256(text) };
  return sha256(sorted(call));
}

for (const database of databasesByLength) {
  describe(`What a person approves, with the real service on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let servers: Servers;
    before(async () => {
      const key = await makeSigningKey('ES256');
      mandate = await startMandate({
        database,
        issuer: 'own-address',
        settings: {
          ...approvalSettings({ audience: JIRA, key }),
          'Service:Approvals:MaxPendingPerTask': '1000',
          'Service:Approvals:MaxPendingPerPerson': '1000',
          'Service:Approvals:MaxQuestionsPerHour': '10000',
          'Service:Me:ClientId': 'the-page',
        },
      });
      agent = await mandate.agent();
      servers = await startServers(
        createToolServer({
          issuer: mandate.issuer,
          audience: JIRA,
          approvalKey: { jwk: { ...key.privateJwk } },
          now: () => mandate.clock.now() / 1000,
          onAccess: () => undefined,
        }),
      );
    });
    after(async () => {
      await servers.stop();
      await mandate.stop();
    });

    it('is what runs, once for each yes, at any framework and in any interleaving', async function () {
      this.timeout(300_000);
      const surfaces = new Set<unknown>();
      await fc.assert(
        fc.asyncProperty(anyHistory, async ({ calls, rounds }) => {
          servers.ran.length = 0;
          const { body } = await agent.exchange();
          const waiting: string[] = [];
          const act = async (one: Act) => {
            if (one.kind === 'answer') {
              const id = waiting[one.nth % waiting.length];
              return id === undefined ? undefined : mandate.answer(id, one.answer);
            }
            const nth = one.nth % calls.length;
            const id = await servers.send(calls[nth] ?? expect.fail(), nth, String(body.access_token));
            return id === undefined || waiting.includes(id) ? undefined : waiting.unshift(id);
          };
          for (const round of [...rounds, ...LAST]) {
            await Promise.all(round.map(act));
            mandate.clock.advance(11);
          }
          const approvals = await used(mandate, body.task_id);
          const ran = servers.ran.map(({ nth, ...got }) => ({ digest: digestOf(calls[nth] ?? expect.fail()), ...got }));
          for (const { nth } of servers.ran) surfaces.add(calls[nth]?.surface);
          const pairs = (all: readonly { readonly digest: string; readonly title: string }[]) =>
            all.map(({ digest, title }) => `${digest} ${title}`).sort();
          expect(pairs(ran)).to.deep.equal(pairs(approvals));
        }),
        { numRuns: RUNS },
      );
      expect([...surfaces], 'surfaces on which calls ran').to.have.members([...SURFACES]);
    });
  });
}

/** Of each record `approval.used` of the task: the digest, and the words that the person had read when they said yes. */
async function used(mandate: Mandate, taskId: unknown) {
  const records = (await mandate.ledger()).filter(({ task_id }) => task_id === taskId);
  const detailsOf = (event: string) => records.filter((one) => one.event === event).map(({ detail }) => String(detail));
  const details = detailsOf('approval.used');
  // Each yes is used once, and whatever was used had a yes.
  expect(new Set(details).size).to.equal(details.length);
  expect(detailsOf('approval.granted')).to.include.members(details);
  return Promise.all(
    details.map(async (detail) => {
      const [, id = '', digest = ''] = /^approval=(\w+)&digest=([\w-]+)&/.exec(detail) ?? [];
      return { digest, title: (await mandate.approval(id)).title };
    }),
  );
}

interface Servers {
  /** Each call that has run: its number, and the words that fit what the handler got. */
  readonly ran: { readonly nth: number; readonly title: string }[];
  /** Resolves with the id of the approval that the call waits for, if it waits. */
  send(call: Call, nth: number, token: string): Promise<string | undefined>;
  stop(): Promise<unknown>;
}

async function startServers(toolServer: ToolServer): Promise<Servers> {
  const ran: Servers['ran'] = [];
  const scope = ['jira:read'];
  const policy = {
    scope,
    approval: ({ method, target, body }: HttpCall) => ({ title: shown('express', { method, target, body }) }),
  };

  const app = express();
  app.all('/pay/:id', expressProtection(toolServer)(policy), (request, response) => {
    const { method, originalUrl: target, body } = request;
    ran.push({ nth: Number(request.get(CALL)), title: shown('express', { method, target, body }) });
    response.json({});
  });
  const { guard } = mcpProtection(toolServer, {
    tools: { pay: { scope, approval: (call) => ({ title: shown('mcp', { arguments: call.arguments }) }) } },
  });
  const payingServer = () => {
    const server = new McpServer({ name: 'bank', version: '1.2.3' });
    server.registerTool('pay', { inputSchema: z.looseObject({}) }, (args, { http }) => {
      const nth = Number(http?.req?.headers.get(CALL));
      ran.push({ nth, title: shown('mcp', { arguments: args }) });
      return { content: [] };
    });
    return server;
  };
  const mcp = toNodeHandler(createMcpHandler(payingServer));
  app.all('/mcp', guard, (request: express.Request, response: express.Response) => {
    void mcp(request, response, request.body);
  });
  const server = createServer(app);

  const other = fastify({ forceCloseConnections: true });
  await other.register(mandateProtection, { toolServer });
  other.route({
    method: ['POST', 'PUT'],
    url: '/pay/:id',
    config: { mandate: policy },
    async handler({ method, originalUrl: target, body, headers }) {
      ran.push({ nth: Number(headers[CALL]), title: shown('fastify', { method, target, body }) });
      return {};
    },
  });

  const urls = { http: `http://127.0.0.1:${await listen(server)}`, fastify: await other.listen({ port: 0 }) };
  return {
    ran,
    async send({ surface, method, target, text }, nth, token) {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        [CALL]: String(nth),
      };
      const message = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pay","arguments":${text}}}`;
      const answer =
        surface === 'mcp'
          ? await fetch(`${urls.http}/mcp`, { method: 'POST', headers, body: message })
          : await fetch(`${surface === 'fastify' ? urls.fastify : urls.http}${target}`, {
              method,
              headers,
              body: text,
            });
      return /\/me\/approvals\/(\w+)/.exec(await answer.text())?.[1];
    },
    stop: () => Promise.all([closeServer(server), other.close()]),
  };
}
