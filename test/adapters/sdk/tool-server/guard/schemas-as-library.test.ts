/**
 * Random schemas and calls: the guard with a schema decides as the library with a function that validates by the same schema. No
 * call passes without a yes that `unless` does not cover, and the tool gets the arguments that were sent and shown.
 */

import { createServer, type IncomingMessage } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { mcpProtection } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { schemaFaults } from '../../../../../adapters/sdk/tool-server/schema/faults.ts';
import type { Json, JsonObject } from '../../../../../domain/tokens/strict-json.ts';
import { byLength } from '../../../../support/length.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const TOOLS = byLength({ short: 25, full: 150 });
const CALLS = byLength({ short: 4, full: 10 });
const scope = ['jira:read'];

const name = fc.constantFrom('a', 'b', 'constructor');
const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc.constantFrom<Json>(0.5, 1e2, 'x', 'xx', '\u{1f600}', '1', '', true, null),
);
const value = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 2 },
    { weight: 4, arbitrary: scalar },
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
/** The line that shows them has at most 200 characters. */
const args = fc
  .dictionary(name, value, { maxKeys: 3, noNullPrototype: true })
  .filter((given) => JSON.stringify(given).length <= 200);

/** Each is true of some values of `args`, and false of others. */
const schema = fc.letrec<{ any: Json }>((tie) => {
  const any = tie('any');
  const bound = fc.integer({ min: -1, max: 3 });
  const count = fc.integer({ min: 0, max: 3 });
  const types = fc.constantFrom<Json>('object', 'array', 'number', 'integer', 'string', ['null', 'boolean']);
  const numbers = fc.record(
    { minimum: bound, exclusiveMaximum: bound, multipleOf: fc.constantFrom(1, 2) },
    { requiredKeys: [] },
  );
  const texts = fc.record(
    { minLength: count, pattern: fc.constantFrom('^x', 'x$', '^\\d+$', '[^x]') },
    { requiredKeys: [] },
  );
  const lists = fc.record(
    { items: any, maxItems: count, contains: any, prefixItems: fc.tuple(any) },
    { requiredKeys: [] },
  );
  const objects = fc.record(
    {
      properties: fc.dictionary(name, any, { minKeys: 1, maxKeys: 2, noNullPrototype: true }),
      required: fc.uniqueArray(name, { maxLength: 2 }),
      additionalProperties: any,
      patternProperties: fc.record({ '^[ab]$': any }),
      minProperties: count,
    },
    { requiredKeys: [] },
  );
  const logic = fc.record(
    { allOf: fc.tuple(any, any), anyOf: fc.tuple(any, any), oneOf: fc.tuple(any, any), not: any },
    { requiredKeys: [] },
  );
  const parts = fc.tuple(fc.option(types), fc.oneof(numbers, texts, lists, objects, objects, logic));
  const whole = parts.map(([type, part]) => (type === null ? part : { ...part, type }) as Json);
  const data = fc.oneof(
    fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
    scalar.map((one) => ({ const: one })),
  );
  return {
    any: fc.oneof({ maxDepth: 3 }, { weight: 2, arbitrary: data }, fc.boolean(), { weight: 6, arbitrary: whole }),
  };
}).any;

interface Tool {
  readonly unless: Json;
  readonly rules: Json;
  readonly calls: readonly JsonObject[];
}

describe('The guard with schemas, and the library with functions', () => {
  const proxy = proxyForEachTest();
  const ran: unknown[] = [];
  const seed = Date.now() % 1_000_000;

  const tool = fc.record({
    unless: schema,
    rules: fc.oneof(fc.constant<Json>(true), schema),
    calls: fc.array(args, { minLength: CALLS, maxLength: CALLS }),
  });
  const tools: readonly Tool[] = fc.sample(tool as fc.Arbitrary<Tool>, { seed, numRuns: TOOLS });
  const ajv = new Ajv2020({ strict: false, ownProperties: true });
  const valid = (given: Json) => ajv.compile(given as JsonObject | boolean);
  const titled = { title: 'Run' };

  async function startLibrary(approvals: FakeApprovals) {
    const toolServer = proxy.library({ approvalKey: { jwk: { ...approvals.key.privateJwk } } });
    const policies = tools.map(({ unless, rules }, at) => {
      const [covers, allows] = [valid(unless), valid(rules)];
      const approval = ({ arguments: given }: { arguments: unknown }) =>
        covers(given)
          ? ('not_needed' as const)
          : { ...titled, lines: [{ label: 'All', value: JSON.stringify(given) }] };
      return [`tool${at}`, { scope, authorize: (given: unknown) => allows(given), approval }];
    });
    const { guard } = mcpProtection(toolServer, { tools: Object.fromEntries(policies) });
    const server = createServer(
      (request: IncomingMessage & { body?: { params?: { arguments?: unknown } } }, response) => {
        guard(request, response, () => {
          ran.push(request.body?.params?.arguments);
          response.end('{"done":true}');
        });
      },
    );
    return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => closeServer(server) };
  }

  it(`decide alike about ${TOOLS * CALLS} calls, and nothing runs that neither a yes nor unless covers`, async function () {
    // A busy machine takes longer than the usual 30 s.
    this.timeout(byLength({ short: 120_000, full: 300_000 }));
    const approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
    const approvalKey = { jwk: { ...approvals.key.privateJwk } };
    const approvalOf = (unless: Json) => ({ ...titled, lines: [{ label: 'All', path: [] }], unless });
    const policies = tools.map(({ unless, rules }, at) => {
      expect([...schemaFaults(unless), ...schemaFaults(rules)], JSON.stringify([unless, rules])).to.deep.equal([]);
      return [`tool${at}`, { scope, arguments: rules, approval: approvalOf(unless) }];
    });
    const guarded = await proxy.start(
      async (request, response) => {
        let body = '';
        for await (const chunk of request.setEncoding('utf8')) body += chunk;
        ran.push(JSON.parse(body).params.arguments);
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"done":true}');
      },
      { routes: [], mcp: { path: '/', tools: Object.fromEntries(policies), methods: {} }, approvalKey },
    );
    const library = await startLibrary(approvals);
    const send = async (url: string, at: number, given: JsonObject) => {
      const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: `tool${at}`, arguments: given } };
      const { body } = await rawRequest(
        `${url}/`,
        'POST',
        [proxy.bearer(), ['Content-Type', 'application/json']],
        JSON.stringify(message),
      );
      return /has to approve/.test(body) ? 'asks' : /refuses these arguments/.test(body) ? 'refuses' : body;
    };
    const verdicts = new Map<string, number>();
    try {
      for (const [at, { unless, rules, calls }] of tools.entries()) {
        const [covers, allows] = [valid(unless), valid(rules)];
        for (const given of calls) {
          const expected = allows(given) ? (covers(given) ? '{"done":true}' : 'asks') : 'refuses';
          const context = JSON.stringify({ seed, unless, rules, given });
          for (const url of [library.url, guarded]) {
            ran.length = 0;
            approvals.asked.length = 0;
            expect(await send(url, at, given), context).to.equal(expected);
            expect(ran, context).to.deep.equal(expected === '{"done":true}' ? [given] : []);
            if (expected !== 'asks') continue;
            const [{ claims } = { claims: { digest: '', lines: [] } }] = approvals.asked;
            approvals.approve(claims.digest);
            expect(await send(url, at, given), context).to.equal('{"done":true}');
            // Both servers have one audience, so the digest of the call is the same.
            approvals.answer(claims.digest, 'pending');
            const [{ value: shown }] = claims.lines as [{ value: string }];
            expect([ran, JSON.parse(shown)], context).to.deep.equal([[given], given]);
          }
          verdicts.set(expected, (verdicts.get(expected) ?? 0) + 1);
        }
      }
    } finally {
      await library.stop();
    }
    // The schemas are of use only if they tell calls apart.
    if (TOOLS > 100) expect(verdicts.size, JSON.stringify([...verdicts])).to.equal(3);
  });
});
