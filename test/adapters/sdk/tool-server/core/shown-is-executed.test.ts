/**
 * A property over random calls and interleavings, on Express and MCP: a handler runs only for what a person approved, once
 * for each approval. It gets exactly the value that the person was shown. The control plane of this test keeps its promise
 * (`granted` once for each yes), and its answers arrive in any order.
 */

import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import type { ApprovalText } from '../../../../../adapters/sdk/tool-server/core/approval-text.ts';
import { sha256 } from '../../../../../adapters/sdk/tool-server/core/call-digest.ts';
import { createToolServer } from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { eventually } from '../../../../support/eventually.ts';
import { byLength } from '../../../../support/length.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import { anyArgumentsText, sorted } from '../../../../support/tool-server/any-arguments.ts';

const ISSUER = 'https://mandate.example';
const AUDIENCE = 'https://jira.example';
const NOW = 1_900_000_000;
const RUNS = byLength({ short: 50, full: 1000 });

/** A call: its surface, and its arguments as text, so that the same value comes in several forms. */
interface Call {
  readonly surface: 'express' | 'mcp';
  readonly text: string;
}
/** A call, or an answer of the person to one that waits, by its place among them. */
type Step = { readonly kind: 'call'; readonly call: Call } | { readonly kind: 'yes'; readonly nth: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      call: fc.record({ surface: fc.constantFrom('express' as const, 'mcp' as const), text: anyArgumentsText }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('yes' as const), nth: fc.nat({ max: 2 }) }) },
);

describe('What a person approves', () => {
  let key: SigningKey;
  before(async () => {
    key = await makeSigningKey('ES256');
  });

  it('is what runs, at most once for each approval, whatever the interleaving', async function () {
    this.timeout(120_000);
    let total = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), fc.scheduler(), async (steps, scheduler) => {
        const world = makeWorld(key, scheduler);
        const calls = steps.filter(({ kind }) => kind === 'call').length;
        for (const one of steps) {
          if (one.kind === 'call') world.send(one.call);
          else world.approve(one.nth);
          // Some calls begin while others wait for the control plane.
          if (scheduler.count() > 2) await scheduler.waitOne();
          await setImmediate();
        }
        while (world.decided() < calls) {
          if (scheduler.count() > 0) await scheduler.waitOne();
          else await setImmediate();
        }
        await eventually(() => world.executed.length === world.allowed());
        total += world.executed.length;
        expect(world.errors).to.deep.equal([]);
        // Each run was granted, each grant ran once, and the person had read the words of this very value.
        expect([...world.executed].sort()).to.deep.equal([...world.granted].sort());
      }),
      { numRuns: RUNS },
    );
    expect(total, 'calls that ran').to.be.greaterThan(20);
  });
});

function makeWorld(key: SigningKey, scheduler: fc.Scheduler) {
  /** The words behind each `granted`, which a person read before. */
  const granted: string[] = [];
  /** The words that fit the value that a handler got. */
  const executed: string[] = [];
  const errors: unknown[] = [];
  const open = new Map<string, { readonly title: string; state: 'pending' | 'granted' }>();
  let [decided, allowed] = [0, 0];

  const answerApproval = scheduler.scheduleFunction(async (form: URLSearchParams) => {
    const { digest, title } = decodeJwt<{ digest: string; title: string }>(form.get('request') ?? '');
    const known = open.get(digest);
    if (known?.state === 'granted') {
      open.delete(digest);
      granted.push(known.title);
      return { state: 'granted', approval_id: 'apr_a', approved_at: '2030-01-01T00:00:00Z' };
    }
    if (known === undefined) open.set(digest, { title, state: 'pending' });
    return {
      state: 'pending',
      approval_id: 'apr_a',
      approval_uri: `${ISSUER}/me/approvals/apr_a`,
      expires_in: 9,
      interval: 5,
    };
  });
  const toolServer = createToolServer({
    issuer: ISSUER,
    audience: AUDIENCE,
    approvalKey: { jwk: { ...key.privateJwk } },
    now: () => NOW * 1000,
    fetch: async (url, init) =>
      String(url).endsWith('/oauth2/approval')
        ? Response.json(await answerApproval(init?.body as URLSearchParams))
        : Response.json({ keys: [key.publicJwk] }),
    onAccess({ decision }) {
      decided += 1;
      if (decision === 'allow') allowed += 1;
    },
    onError: (error) => void errors.push(error),
  });

  // The person is shown a hash of the value, which fits every limit.
  const shownOf = (surface: Call['surface'], value: unknown) => sha256(`${surface} ${sorted(value)}`);
  const approval = (surface: Call['surface'], value: unknown): ApprovalText => ({ title: shownOf(surface, value) });
  const protect = expressProtection(toolServer)({ scope: ['pay'], approval: ({ body }) => approval('express', body) });
  const { guard } = mcpProtection(toolServer, {
    tools: { pay: { scope: ['pay'], approval: (call) => approval('mcp', call.arguments) } },
  });
  const ran = (surface: Call['surface'], value: unknown) => void executed.push(shownOf(surface, value));

  return {
    granted,
    executed,
    errors,
    decided: () => decided,
    allowed: () => allowed,
    approve(nth: number) {
      const [, waiting] = [...open].filter(([, { state }]) => state === 'pending')[nth] ?? [];
      if (waiting !== undefined) waiting.state = 'granted';
    },
    send({ surface, text }: Call) {
      const { request, response } = incoming(tokenOf(key));
      if (surface === 'express') {
        request.push(text);
        request.push(null);
        protect(request, response, () => ran('express', request.body));
      } else {
        request.body = {
          jsonrpc: '2.0',
          id: 7,
          method: 'tools/call',
          params: { name: 'pay', arguments: JSON.parse(text) },
        };
        guard(request, response, () =>
          ran('mcp', (request.body as { params: { arguments: unknown } }).params.arguments),
        );
      }
    },
  };
}

function incoming(token: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const given = { method: 'POST', url: '/pay', originalUrl: '/pay', headers, body: undefined as unknown };
  const request = Object.assign(new http.IncomingMessage(new Socket()), given, {
    rawHeaders: Object.entries(headers).flat(),
  });
  return { request, response: new http.ServerResponse(request) };
}

function tokenOf(key: SigningKey): string {
  const act = { sub: 'agent:triage', depth: 1 };
  const task = { id: 'task_a', exp: NOW + 1200, sponsor: 'ada' };
  const times = { iat: NOW, exp: NOW + 240 };
  const claims = { iss: ISSUER, sub: 'ada', aud: AUDIENCE, jti: randomUUID(), scope: 'pay', act, task, ...times };
  return key.sign({ alg: 'ES256', typ: 'at+jwt', kid: key.kid }, claims);
}
