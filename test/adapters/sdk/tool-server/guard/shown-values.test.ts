/** The values that a person reads of a call through the proxy: each as it was sent, and as every reader reads it. */

import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import type { Approval } from '../../../../../adapters/sdk/tool-server/guard/value-kinds.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import { matchOf } from '../../../../support/tool-server/decided-app.ts';
import { proxyForEachTest } from '../../../../support/tool-server/proxied-upstream.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const JSON_TYPE = ['Content-Type', 'application/json'] as const;
const PAY: Approval = { title: 'Pay', lines: [{ label: 'Betrag – 金額', path: ['amount'] }] };
const ROUNDED = [
  '0.10000000000000000555',
  '-0',
  '9007199254740990.7',
  '123456789012345.678',
  '1.0000000000000000000001',
  '1e-400',
  '9007199254740993',
  '-0.0e5',
];

const UNKNOWN = 'a member that the rules do not know';

describe('The value of a line, through the proxy', () => {
  const proxy = proxyForEachTest();
  const { bearer, decided } = proxy;
  let approvals: FakeApprovals;
  let seen = 0;
  let url: string;

  beforeEach(async () => {
    seen = 0;
    approvals = await fakeApprovals(proxy.plane, () => Math.floor(Date.now() / 1000));
    const server: RequestListener = (_, response) => {
      seen += 1;
      response.end('{}');
    };
    url = await proxy.start(server, {
      routes: [{ match: matchOf('POST /pay'), scope: ['jira:read'], approval: PAY }],
      mcp: { path: '/mcp', tools: { pay: { scope: ['jira:read'], approval: PAY } }, methods: {} },
      approvalKey: { jwk: { ...approvals.key.privateJwk } },
    });
  });

  const atRoute = (body: string) => rawRequest(`${url}/pay`, 'POST', [bearer(), JSON_TYPE], body);
  const atMcp = (args: string, id = '7') => {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"pay","arguments":${args}}}`;
    return rawRequest(`${url}/mcp`, 'POST', [bearer(), JSON_TYPE], body);
  };
  const shown = () =>
    approvals.asked.flatMap(({ claims }) =>
      (claims.lines as { label: string; value: string }[]).slice(-1).map(({ value }) => value),
    );
  const reasons = () => decided().map(([, , reason]) => reason);

  it('is refused, and no person is asked, for a number that a double rounds, also deep inside and in no line', async () => {
    for (const number of ROUNDED) {
      for (const [body, sentence] of [
        [`{"amount":${number}}`, 'The line Betrag – 金額 has a number that some readers round: $.amount.'],
        [`{"amount":[${number}]}`, 'The line Betrag – 金額 has a number that some readers round: $.amount[0].'],
        [`{"amount":[{"b":${number}}]}`, `The line Betrag – 金額 has a number that some readers round: ${UNKNOWN}.`],
        [
          `{"amount":1,"more":{"c":[${number}]}}`,
          `A value that no line shows has a number that some readers round: ${UNKNOWN}.`,
        ],
      ] as const) {
        const route = await atRoute(body);
        expect([route.status, JSON.parse(route.body).reason]).to.deep.equal([403, 'arguments_refused']);
        expect(JSON.parse(route.body).error_description).to.equal(
          `The policy of the tool refuses these arguments. ${sentence}`,
        );
        const { id, result } = JSON.parse((await atMcp(body)).body);
        expect([id, result.isError, result.content[0].text]).to.deep.equal([
          7,
          true,
          `The policy of the tool refuses these arguments. ${sentence}`,
        ]);
        expect(route.body).not.to.include(number);
      }
    }
    expect([approvals.asked, seen, new Set(reasons())]).to.deep.equal([[], 0, new Set(['arguments_refused'])]);
  });

  it('is refused at MCP with the member that no double holds at all, and the log has the same sentence', async () => {
    const digits = '9'.repeat(400);
    const rows = [
      ['{"amount":1e400}', 'A number is beyond all doubles: $.amount.'],
      ['{"amount":-1e400}', 'A number is beyond all doubles: $.amount.'],
      [`{"amount":[1,${digits}]}`, 'A number is beyond all doubles: $.amount[1].'],
      ['{"amount":1,"Mallory":{"amount":1e400}}', `A number is beyond all doubles: ${UNKNOWN}.`],
      ['{"amount":1,"__proto__":{}}', 'The arguments have a member __proto__.'],
      ['[]', 'The arguments are no object.'],
    ] as const;
    for (const [args, sentence] of rows) {
      const { status, body } = await atMcp(args);
      const { id, result } = JSON.parse(body);
      expect([status, id, result.isError, result.content[0].text]).to.deep.equal([
        ...[200, 7, true],
        `The policy of the tool refuses these arguments. ${sentence}`,
      ]);
      expect((await atMcp(args, 'null')).status).to.equal(403);
    }
    expect(proxy.unshown).to.deep.equal(rows.map(([, problem]) => ({ route: 'pay', taskId: TASK_ID, problem })));
    expect([approvals.asked, seen, reasons()]).to.deep.equal([[], 0, Array(12).fill('arguments_refused')]);
  });

  it('is a number as it was sent, also in lists and objects', async () => {
    const values = [
      '0.1',
      '1.10',
      '1e2',
      '-1.50',
      '12345678901234.5',
      '[1.10, {"b": 0.50, "a": 2E0}]',
      '{"b":1.0,"a":[-7]}',
    ];
    for (const value of values) {
      await atRoute(`{"amount": ${value} }`);
      await atMcp(`{"amount": ${value} }`);
    }
    const wanted = [
      '0.1',
      '1.10',
      '1e2',
      '-1.50',
      '12345678901234.5',
      '[1.10,{"a":2E0,"b":0.50}]',
      '{"a":[-7],"b":1.0}',
    ];
    expect(shown()).to.deep.equal(wanted.flatMap((each) => [each, each]));
  });

  it('is a text in quotation marks where it would read as another kind of value', async () => {
    const texts = ['1', 'null', 'true', '[1]', '{"name":"A"}', '"1"', ' 7 ', '1.10', '-0'];
    const others = ['1', 'null', 'true', '[1]', '{"name":"A"}', '1.10'];
    const plain = ['ACME Ltd', '1 EUR', 'nullable', '01', '+1', '{name}', 'C:\\1'];
    for (const text of [...texts, ...plain]) await atRoute(JSON.stringify({ amount: text }));
    for (const other of others) await atRoute(`{"amount":${other}}`);
    const quoted = texts.map((text) => JSON.stringify(text));
    expect(shown()).to.deep.equal([...quoted, ...plain, ...others]);
    expect(new Set(shown()).size).to.equal(texts.length + plain.length + others.length);
  });

  it('is named by its label where it cannot be shown, and no part of it is repeated', async () => {
    const [label, secret] = ['Betrag – 金額', 'Mallory'];
    for (const [amount, sentence] of [
      [undefined, `The line ${label} has no value: $.amount.`],
      [' \u200b\ufe0f', `The line ${label} is blank: $.amount.`],
      [secret.repeat(30), `The line ${label} is longer than 200 characters: $.amount.`],
      [`${secret}\nAmount: 1`, `The line ${label} has control characters or line breaks: $.amount.`],
      [{ to: secret, To: secret }, `The line ${label} has two names that some readers take for one: ${UNKNOWN}.`],
      [
        { [`${secret} x`]: 1, [`${secret} X`]: 2 },
        `The line ${label} has two names that some readers take for one: ${UNKNOWN}.`,
      ],
    ] as const) {
      const body = JSON.stringify({ amount });
      const answer = await atRoute(body);
      expect(JSON.parse(answer.body).error_description).to.equal(
        `The policy of the tool refuses these arguments. ${sentence}`,
      );
      expect(`${answer.headers['www-authenticate']}`)
        .to.match(/^[\x20-\x7e]*$/)
        .and.include('refuses these arguments');
      const { result } = JSON.parse((await atMcp(body)).body);
      expect([result.isError, result.content[0].text]).to.deep.equal([true, JSON.parse(answer.body).error_description]);
      expect(answer.body).not.to.include(secret);
      // Without an id it is no request, so there is no result.
      expect((await atMcp(body, 'null')).status).to.equal(403);
    }
    expect([approvals.asked, seen, new Set(reasons())]).to.deep.equal([[], 0, new Set(['arguments_refused'])]);
    const problem = `The line ${label} has no value: $.amount.`;
    expect(proxy.unshown.slice(0, 2)).to.deep.equal([
      { route: 'POST /pay', taskId: TASK_ID, problem },
      { route: 'pay', taskId: TASK_ID, problem },
    ]);
    expect(JSON.stringify(proxy.unshown)).not.to.include(secret);
  });

  it('is refused for a member that is there twice, with its path if the lines have its names', async () => {
    for (const [body, sentence] of [
      [
        '{"amount":{"a":[{"iban":1,"IBAN":2}]}}',
        `The line Betrag – 金額 has two names that some readers take for one: ${UNKNOWN}.`,
      ],
      ['{"amount":1,"Amount":2}', 'An object has two names that some readers take for one: $.amount.'],
      [
        '{"amount":1,"more":{"to":1,"to\\u0000x":2}}',
        `An object has two names that some readers take for one: ${UNKNOWN}.`,
      ],
      ['{"amount":1,"é":1,"É":2}', `An object has two names that some readers take for one: ${UNKNOWN}.`],
    ] as const) {
      const { error_description: said, reason } = JSON.parse((await atRoute(body)).body);
      expect([reason, said]).to.deep.equal([
        'arguments_refused',
        `The policy of the tool refuses these arguments. ${sentence}`,
      ]);
      expect(proxy.unshown.at(-1)?.problem).to.equal(sentence);
    }
    expect([approvals.asked, seen, reasons()]).to.deep.equal([[], 0, Array(4).fill('arguments_refused')]);
  });
});
