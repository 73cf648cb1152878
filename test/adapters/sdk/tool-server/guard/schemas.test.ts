/** Schemas in the guard's file: `arguments`, which each call must meet, and `unless`, whose calls need no yes. */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import type { ProxyConfiguration } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import type { Approval } from '../../../../../adapters/sdk/tool-server/guard/value-kinds.ts';
import type { Json } from '../../../../../domain/tokens/strict-json.ts';
import { answering } from '../../../../support/loopback.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const JSON_TYPE = ['Content-Type', 'application/json'] as const;
const SMALL: Json = {
  type: 'object',
  properties: { to: { enum: ['Bob'] }, amount: { type: 'number', exclusiveMinimum: 0, maximum: 50, multipleOf: 0.01 } },
  required: ['to', 'amount'],
};
const PAY: Approval = { title: 'Pay', lines: [{ label: 'Amount', path: ['amount'] }], unless: SMALL };
const RULES: Json = {
  properties: { to: { type: 'string' }, amount: { type: 'number', maximum: 500 } },
  required: ['amount'],
  additionalProperties: false,
};
const BODY = 'The body of this call must be JSON that all readers read alike, sent as application/json in UTF-8.';
const REFUSES = 'The policy of the tool refuses these arguments.';
const UNKNOWN = 'a member that the rules do not know';
type Lines = readonly (readonly [name: string, value: string])[];

describe('A schema in the guard, through the proxy', () => {
  const proxy = proxyForEachTest();
  const { bearer, events, errors } = proxy;
  const seen: string[] = [];
  let approvals: FakeApprovals;
  let url: string;

  const server: RequestListener = async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    seen.push(body);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"done": true}');
  };
  const scope = ['jira:read'];
  const start = async (more: Partial<ProxyConfiguration> = {}) => {
    url = await proxy.start(server, {
      routes: [
        { match: matchOf('POST /payments'), scope, approval: PAY },
        { match: matchOf('POST /risky'), scope, approval: PAY, highRisk: true },
        { match: matchOf('POST /orders'), scope, arguments: RULES },
        { match: matchOf('POST /both'), scope, arguments: RULES, approval: PAY },
        { match: matchOf('POST /*'), scope },
      ],
      mcp: {
        path: '/mcp',
        tools: {
          pay: { scope, approval: PAY },
          order: { scope, arguments: RULES },
          both: { scope, arguments: RULES, approval: PAY },
        },
        methods: {},
      },
      approvalKey: { jwk: { ...approvals.key.privateJwk } },
      ...more,
    });
  };
  beforeEach(async () => {
    seen.length = 0;
    approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
    await start();
  });

  async function atRoute(path: string, body: string, headers: Lines = [JSON_TYPE]) {
    const answer = await rawRequest(`${url}${path}`, 'POST', [bearer(), ...headers], body);
    const { reason, error, error_description: text } = JSON.parse(answer.body) as Readonly<Record<string, string>>;
    return { status: answer.status, reason, error, text, challenge: answer.headers['www-authenticate'] };
  }
  async function atMcp(name: string, args: string, { id = '7', more = '', headers = [] as Lines } = {}) {
    const message = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}${more}}}`;
    const answer = await rawRequest(`${url}/mcp`, 'POST', [bearer(), JSON_TYPE, ...headers], message);
    return { status: answer.status, message, json: JSON.parse(answer.body) };
  }
  const outcomes = () => events.map(({ reason, approval }) => [reason, approval]);
  const SAID = '{"to": "Bob", "amount": 1.10}';

  describe('in unless', () => {
    it('lets a call that it covers pass without a question, with the bytes that were sent', async () => {
      expect((await atRoute('/payments', SAID)).status).to.equal(200);
      expect([seen, approvals.asked, errors]).to.deep.equal([[SAID], [], []]);
      expect(outcomes()).to.deep.equal([[null, 'not_needed']]);
      expect(proxy.plane.asked('/oauth2/introspect')).to.equal(0);
    });

    it('lets a call of a tool pass with its name, its arguments and _meta alone', async () => {
      const { json } = await atMcp('pay', SAID, { more: ',"_meta":{"a":1},"inputResponses":{"amount":900}' });
      expect(json).to.deep.equal({ done: true });
      const { params } = JSON.parse(seen[0] ?? '');
      expect(params).to.deep.equal({ name: 'pay', arguments: { to: 'Bob', amount: 1.1 }, _meta: { a: 1 } });
      expect([approvals.asked, outcomes()]).to.deep.equal([[], [[null, 'not_needed']]]);
    });

    it('is introspected where the policy is high-risk, and refused if the task has ended', async () => {
      expect((await atRoute('/risky', SAID)).status).to.equal(200);
      proxy.plane.answerIntrospection = answering({ active: false });
      expect((await atRoute('/risky', SAID)).reason).to.equal('not_active');
      expect([seen, approvals.asked.length]).to.deep.equal([[SAID], 0]);
      expect(outcomes()).to.deep.equal([
        [null, 'not_needed'],
        ['not_active', 'not_needed'],
      ]);
    });

    for (const [what, body] of [
      ['above the limit', '{"to": "Bob", "amount": 50.01}'],
      ['of another payee', '{"to": "Eve", "amount": 1}'],
      ['with a number as text', '{"to": "Bob", "amount": "1"}'],
      ['with a list', '{"to": "Bob", "amount": [1]}'],
      ['below nothing', '{"to": "Bob", "amount": -1}'],
      ['below a cent', '{"to": "Bob", "amount": 0.001}'],
      ['without a payee', '{"amount": 1}'],
    ] as const) {
      it(`asks for a call ${what}`, async () => {
        expect((await atRoute('/payments', body)).reason).to.equal('approval_required');
        expect((await atMcp('pay', body)).json.result.isError).to.equal(true);
        expect([approvals.asked.length, seen]).to.deep.equal([2, []]);
        expect(outcomes()).to.deep.equal(Array(2).fill(['approval_required', undefined]));
      });
    }

    for (const [what, more] of [
      ['with a name in two letter cases', '"Amount": 900'],
      ['with a name that some parsers cut', '"amount\\u0000": 900'],
      ['with a number that a double rounds', '"more": 0.10000000000000000555'],
      ['with a number beyond 2^53', '"more": [9007199254740993]'],
      ['with a member twice', '"amount": 900'],
      ['with __proto__', '"__proto__": {"amount": 900}'],
      ['with 1e400', '"more": 1e400'],
    ] as const) {
      it(`refuses a covered call ${what}, which another parser could read otherwise`, async () => {
        const body = SAID.replace('}', `, ${more}}`);
        expect((await atRoute('/payments', body)).reason).to.match(/^(?:arguments_refused|malformed_body)$/);
        const { json } = await atMcp('pay', body);
        expect(json.result?.isError ?? json.error.code).to.be.oneOf([true, -32700]);
        expect([seen, approvals.asked]).to.deep.equal([[], []]);
        expect(new Set(outcomes().map(([, approval]) => approval))).to.deep.equal(new Set([undefined]));
      });
    }

    it('asks for a request with a query, which frameworks merge with the body', async () => {
      for (const query of ['?amount=900', '?a']) {
        expect((await atRoute(`/payments${query}`, SAID)).reason).to.equal('approval_required');
      }
      expect([seen, outcomes()]).to.deep.equal([[], Array(2).fill(['approval_required', undefined])]);
    });

    it('asks for a call with a name that some parsers take for one of the schema', async () => {
      const properties = { amount: { type: 'number', maximum: 50 }, urgent: { const: false } };
      const unless: Json = { type: 'object', properties, required: ['amount'] };
      const approval: Approval = { ...PAY, unless };
      await proxy.stop();
      await start({
        routes: [{ match: matchOf('POST /payments'), scope, approval }],
        mcp: { path: '/mcp', tools: { pay: { scope, approval } }, methods: {} },
      });
      for (const name of ['Urgent', 'u\\u0072gent\\u0000', '\uff55rgent', 'more": {"Amount']) {
        const body = `{"amount": 1, "${name}": true${name.includes('{') ? '}' : ''}}`;
        expect((await atRoute('/payments', body)).reason).to.equal('approval_required');
        expect((await atMcp('pay', body)).json.result.isError).to.equal(true);
      }
      expect([seen, approvals.asked.length]).to.deep.equal([[], 8]);
      expect((await atRoute('/payments', '{"amount": 1, "urgent": false}')).status).to.equal(200);
      expect(outcomes()).to.deep.equal([...Array(8).fill(['approval_required', undefined]), [null, 'not_needed']]);
    });

    it('asks for a call with a name that some parsers take for one that a pattern of the schema matches', async () => {
      const unless: Json = { type: 'object', patternProperties: { '^amount': { type: 'number', maximum: 50 } } };
      await proxy.stop();
      await start({ routes: [{ match: matchOf('POST /payments'), scope, approval: { ...PAY, unless } }] });
      expect((await atRoute('/payments', '{"amount": 1, "Amount": 900}')).reason).to.equal('arguments_refused');
      expect((await atRoute('/payments', '{"amount": 1, "AmountOfTax": 900}')).reason).to.equal('approval_required');
      expect([seen, approvals.asked.length]).to.deep.equal([[], 1]);
      expect((await atRoute('/payments', '{"amount": 1, "amountOfTax": 2, "to": "Bob"}')).status).to.equal(200);
      expect(outcomes()).to.deep.equal([
        ['arguments_refused', undefined],
        ['approval_required', undefined],
        [null, 'not_needed'],
      ]);
    });

    it('asks for a request without a body, and refuses one that is no JSON', async () => {
      const lines: Approval = { title: 'Pay', lines: [], unless: {} };
      await proxy.stop();
      await start({ routes: [{ match: matchOf('POST /payments'), scope, approval: lines }] });
      expect((await atRoute('/payments', '')).reason).to.equal('approval_required');
      expect((await atRoute('/payments', 'a=1')).reason).to.equal('malformed_body');
      expect((await atRoute('/payments', '{"a":1,"a":2}')).reason).to.equal('malformed_body');
      expect((await atRoute('/payments', '{"a":1}')).status).to.equal(200);
      expect(outcomes().map(([, approval]) => approval)).to.deep.equal([undefined, undefined, undefined, 'not_needed']);
    });

    it('lets a covered call pass that no line could show, and refuses another with the path of the line', async () => {
      const lines: Approval = { ...PAY, lines: [{ label: 'Note', path: ['more', 'note'] }] };
      await proxy.stop();
      await start({ routes: [{ match: matchOf('POST /payments'), scope, approval: lines }] });
      expect((await atRoute('/payments', SAID)).status).to.equal(200);
      const answer = await atRoute('/payments', SAID.replace('1.10', '51'));
      expect([answer.reason, answer.text]).to.deep.equal([
        'arguments_refused',
        `${REFUSES} The line Note has no value: $.more.note.`,
      ]);
      expect(outcomes()).to.deep.equal([
        [null, 'not_needed'],
        ['arguments_refused', undefined],
      ]);
    });
  });

  describe('in arguments', () => {
    it('refuses a call with a name that some parsers take for one of the schema', async () => {
      const rules: Json = { properties: { amount: { maximum: 500 } } };
      await proxy.stop();
      await start({
        routes: [{ match: matchOf('POST /orders'), scope, arguments: rules }],
        mcp: { path: '/mcp', tools: { order: { scope, arguments: rules } }, methods: {} },
      });
      for (const body of ['{"Amount": 900}', '{"amount\\u0000": 900}', '{"items": [{"AMOUNT": 900}]}']) {
        const { reason, text } = await atRoute('/orders', body);
        expect(reason).to.equal('arguments_refused');
        expect(text).to.match(/Some readers take another name for this one: (?:\$\.amount|a member that .*)\.$/);
        expect((await atMcp('order', body)).json.result.content[0].text).to.equal(text);
      }
      expect([seen, outcomes()]).to.deep.equal([[], Array(6).fill(['arguments_refused', undefined])]);
    });

    it('refuses a call with a name that some parsers take for one that a pattern of the schema matches', async () => {
      const rules: Json = { patternProperties: { '^amount': { maximum: 500 } } };
      await proxy.stop();
      await start({
        routes: [{ match: matchOf('POST /orders'), scope, arguments: rules }],
        mcp: { path: '/mcp', tools: { order: { scope, arguments: rules } }, methods: {} },
      });
      const problem = `Some readers take another name for this one: ${UNKNOWN}.`;
      const body = '{"Amount": 900}';
      const { reason, text } = await atRoute('/orders', body);
      expect([reason, text]).to.deep.equal(['arguments_refused', `${REFUSES} ${problem}`]);
      expect((await atMcp('order', body)).json.result.content[0].text).to.equal(text);
      expect([seen, outcomes()]).to.deep.equal([[], Array(2).fill(['arguments_refused', undefined])]);
      expect(proxy.unshown.map((call) => call.problem)).to.deep.equal([problem, problem]);
      // The pattern is about members of the root alone.
      expect((await atRoute('/orders', '{"amount": 500, "more": {"Amount": 900}}')).status).to.equal(200);
    });

    it('lets a call pass that meets it, byte by byte, at a route and at mcp.path', async () => {
      expect((await atRoute('/orders', SAID)).status).to.equal(200);
      const { message, json } = await atMcp('order', SAID, { more: ',"inputResponses":{}' });
      expect(json).to.deep.equal({ done: true });
      expect([seen, approvals.asked]).to.deep.equal([[SAID, message], []]);
      expect(outcomes()).to.deep.equal(Array(2).fill([null, undefined]));
    });

    for (const [what, body, sentence] of [
      ['that breaks a rule', '{"amount": 501}', 'The rule maximum refuses $.amount.'],
      ['without a member', '{"to": "Mallory"}', 'The rules require $.amount.'],
      ['with a number as text', '{"amount": "Mallory"}', 'The rule type refuses $.amount.'],
      ['with a further member', '{"amount": 1, "Mallory": 2}', `The rule additionalProperties refuses ${UNKNOWN}.`],
      [
        'with a name in two letter cases',
        '{"amount": 1, "Amount": 2}',
        'Some readers take two names for one: $.amount.',
      ],
      [
        'with such a name deep inside',
        '{"amount": 1, "to": [{"b": 1, "B": 2}]}',
        `Some readers take two names for one: ${UNKNOWN}.`,
      ],
      ['with a number beyond 2^53', '{"amount": 9007199254740993}', 'Some readers round a number: $.amount.'],
      [
        'with a number that a double rounds',
        '{"amount": 0.10000000000000000555}',
        'Some readers round a number: $.amount.',
      ],
    ] as const) {
      it(`refuses a call ${what}, and names the part`, async () => {
        const route = await atRoute('/orders', body);
        expect([route.status, route.reason, route.error]).to.deep.equal([
          403,
          'arguments_refused',
          'arguments_refused',
        ]);
        expect(route.text).to.equal(`${REFUSES} ${sentence}`);
        expect(route.challenge).to.include('error="arguments_refused"').and.not.match(/scope/);
        const { status, json } = await atMcp('order', body);
        expect([status, json.id, json.result.isError]).to.deep.equal([200, 7, true]);
        expect(json.result.content[0].text).to.equal(route.text);
        const unanswered = await atMcp('order', body, { id: 'null' });
        expect([unanswered.status, unanswered.json.error]).to.deep.equal([403, 'arguments_refused']);
        expect(JSON.stringify([route, json, unanswered.json, proxy.unshown])).not.to.include('Mallory');
        expect(outcomes()).to.deep.equal(Array(3).fill(['arguments_refused', undefined]));
        expect(proxy.unshown.map(({ bySchema, route: name, problem }) => [bySchema, name, problem])).to.deep.equal([
          [true, 'POST /orders', sentence],
          [true, 'order', sentence],
          [true, 'order', sentence],
        ]);
        expect([seen, approvals.asked]).to.deep.equal([[], []]);
      });
    }

    for (const [what, body, reason, status] of [
      ['without a body', '', 'arguments_refused', 403],
      ['that is no JSON', 'amount=1', 'malformed_body', 400],
      ['with a member twice', '{"amount": 1, "amount": 501}', 'malformed_body', 400],
      ['with 1e400', '{"amount": 1e400}', 'malformed_body', 400],
      ['with __proto__', '{"amount": 1, "__proto__": {"amount": 501}}', 'malformed_body', 400],
      ['of 33 levels', `{"amount": ${'['.repeat(33)}${']'.repeat(33)}}`, 'malformed_body', 400],
      ['of over 1 MiB', `{"amount": 1, "to": "${'a'.repeat(1024 * 1024)}"}`, 'body_too_long', 413],
      ['of over 100,000 items', `{"amount": [${'1,'.repeat(100_001)}1]}`, 'body_too_long', 413],
    ] as const) {
      it(`refuses a request ${what} with ${reason}`, async () => {
        const answer = await atRoute('/orders', body);
        expect([answer.status, answer.reason]).to.deep.equal([status, reason]);
        expect([outcomes(), seen]).to.deep.equal([[[reason, undefined]], []]);
        if (reason === 'malformed_body') expect(answer.text).to.equal(BODY);
      });
    }

    for (const [what, args, problem] of [
      ['1e400', '{"amount": 1e400}', 'A number is beyond all doubles: $.amount.'],
      [
        '-1e400 in a member that the rules do not know',
        '{"sk": [-1e400]}',
        `A number is beyond all doubles: ${UNKNOWN}.`,
      ],
      ['__proto__', '{"amount": 1, "__proto__": {}}', 'The arguments have a member __proto__.'],
      ['no object', '[1]', 'The arguments are no object.'],
      ['null', 'null', 'The arguments are no object.'],
    ] as const) {
      it(`refuses a call of a tool with ${what}, and says why, also for the log`, async () => {
        expect((await atMcp('order', args)).json.result.content[0].text).to.equal(`${REFUSES} ${problem}`);
        expect(proxy.unshown.map((call) => call.problem)).to.deep.equal([problem]);
        expect([outcomes(), seen]).to.deep.equal([[['arguments_refused', undefined]], []]);
      });
    }

    it('is looked at before the task, and before the person is asked', async () => {
      proxy.plane.answerIntrospection = answering({ active: false });
      for (const body of ['{"amount": 501}', '{"amount": 60, "other": 1}']) {
        expect((await atRoute('/both', body)).reason).to.equal('arguments_refused');
        expect((await atMcp('both', body)).json.result.content[0].text).to.include(REFUSES);
      }
      expect([approvals.asked, proxy.plane.asked('/oauth2/introspect')]).to.deep.equal([[], 0]);
      expect((await atRoute('/both', '{"amount": 60}')).reason).to.equal('approval_required');
      expect((await atRoute('/both', SAID)).status).to.equal(200);
      expect((await atMcp('both', SAID)).json).to.deep.equal({ done: true });
      expect([approvals.asked.length, seen[0]]).to.deep.equal([1, SAID]);
      expect(outcomes()).to.deep.equal([
        ...Array(4).fill(['arguments_refused', undefined]),
        ['approval_required', undefined],
        ...Array(2).fill([null, 'not_needed']),
      ]);
    });

    it('is looked at after the headers of the message', async () => {
      const { status, json } = await atMcp('order', '{"amount": 501}', { headers: [['Mcp-Name', 'pay']] });
      expect([status, json.error.code]).to.deep.equal([400, -32020]);
      expect([outcomes(), proxy.unshown, seen]).to.deep.equal([[['headers_differ', undefined]], [], []]);
    });

    it('is not looked at, and no body is read, if token or scope do not allow the request', async () => {
      const headers = [['Authorization', bearer({ scope: 'wiki:read' })[1]], JSON_TYPE] as const;
      const answer = await rawRequest(`${url}/orders`, 'POST', headers, '{');
      expect([answer.status, JSON.parse(answer.body).reason]).to.deep.equal([403, 'insufficient_scope']);
      expect(outcomes()).to.deep.equal([['insufficient_scope', undefined]]);
    });

    it('lets no wildcard behind its route allow a path that a server could take for it', async () => {
      for (const path of ['/Orders', '/orders/', '/orders.json']) {
        expect((await atRoute(path, '{"amount": 501}')).reason).to.equal('unknown_route');
      }
      expect((await atRoute('/others', '{"amount": 501}')).status).to.equal(200);
    });
  });

  it('that gives no verdict in time refuses the call as policy_unavailable, in both places', async () => {
    const slow: Json = {
      allOf: [
        { items: { $ref: '#' }, minItems: 1 },
        { items: { $ref: '#' }, maxItems: 1 },
      ],
    };
    const held: Json = {
      properties: { a: { $ref: '#/$defs/slow' } },
      $defs: { slow: JSON.parse(JSON.stringify(slow).replaceAll('#', '#/$defs/slow')) },
    };
    const approval: Approval = { title: 'Pay', lines: [], unless: held };
    await proxy.stop();
    await start({
      routes: [
        { match: matchOf('POST /payments'), scope, approval },
        { match: matchOf('POST /orders'), scope, arguments: held },
      ],
      mcp: { path: '/mcp', tools: { order: { scope, arguments: held } }, methods: {} },
    });
    const body = `{"a": ${'['.repeat(28)}2${']'.repeat(28)}}`;
    for (const path of ['/payments', '/orders']) {
      const answer = await atRoute(path, body);
      expect([answer.status, answer.reason]).to.deep.equal([503, 'policy_unavailable']);
    }
    expect((await atMcp('order', body)).json.reason).to.equal('policy_unavailable');
    expect([approvals.asked, seen]).to.deep.equal([[], []]);
    expect(outcomes()).to.deep.equal(Array(3).fill(['policy_unavailable', undefined]));
    expect(proxy.unshown.map(({ bySchema, problem }) => [bySchema, problem])).to.deep.equal(
      Array(3).fill([true, 'The rules of the file did not decide in time.']),
    );
    expect((await atRoute('/orders', '{"a": 1}')).status).to.equal(200);
  });
});
