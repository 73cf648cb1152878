/** Calls of MCP tools that a person has to approve, with the official clients: each waits for the approval, and gets its answer. */

import { createHash } from 'node:crypto';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import type { McpToolPolicy } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { describeDenial } from '../../../../../domain/denial.ts';
import { answering } from '../../../../support/loopback.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { AUDIENCE, planeForEachTest, TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import {
  client1,
  client2,
  type OpenPage,
  PAY,
  type Paying,
  type PayingMcp,
  startPayingMcp,
} from '../../../../support/tool-server/paying-mcp.ts';

const NOW = 1_900_000_000;
const ARGS = { to: 'Bob', amount: 12 };
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const VERSION = 'io.modelcontextprotocol/protocolVersion';

describe('A call of an MCP tool that a person approves', () => {
  const fixture = planeForEachTest(() => NOW);
  const { events } = fixture;
  const closing: (() => Promise<unknown>)[] = [];
  let approvals: FakeApprovals;
  let bank: PayingMcp;

  beforeEach(async () => {
    approvals = await fakeApprovals(fixture.plane, () => NOW);
    await start();
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close().catch(() => undefined);
  });

  async function start(policy: McpToolPolicy = PAY, parsed = false): Promise<void> {
    const toolServer = fixture.toolServer({
      approvalKey: { jwk: { ...approvals.key.privateJwk } },
      now: () => NOW * 1000,
      onError: () => undefined,
    });
    bank = await startPayingMcp(toolServer, { policy, parsed });
    closing.push(() => bank.stop());
  }
  const token = async () => fixture.plane.token();
  const digest = () => approvals.asked.at(-1)?.claims.digest ?? '';
  const waiting = () => ({
    text: `A person has to approve this call: waiting for ${approvals.uri(digest())}; call again with the same arguments.`,
    isError: true,
  });
  const sessions = () => bank.endpoint.replace('/mcp', '/sessions');
  const PAID = { text: 'Paid 12 to Bob', isError: false };
  async function connected(client: Promise<Paying>): Promise<Paying> {
    const one = await client;
    closing.unshift(() => one.close());
    return one;
  }
  const reasons = () => events.filter(({ route }) => route === 'pay').map(({ reason }) => reason);

  for (const [what, connect] of [
    ['SDK 2', () => client2(bank.endpoint, token)],
    ['SDK 2 with a handshake', () => client2(bank.endpoint, token, async () => 'accept', 'legacy')],
    ['SDK 2 in a session', () => client2(sessions(), token, undefined, 'legacy')],
    ['SDK 1', () => client1(bank.endpoint, token)],
    ['SDK 1, which opens URLs, without a session', () => client1(bank.endpoint, token, async () => 'accept')],
    ['SDK 1 in a session', () => client1(sessions(), token)],
  ] as const) {
    it(`is answered to ${what} with the address of the approval, until the repeated call goes through once`, async () => {
      const client = await connected(connect());
      expect(await client.call(ARGS)).to.deep.equal(waiting());
      expect(await client.call(ARGS)).to.deep.equal(waiting());
      approvals.approve(digest());
      expect(await client.call({ amount: 12, to: 'Bob' })).to.deep.equal(PAID);
      expect(await client.call(ARGS)).to.deep.equal({
        text: 'The approval of this call was used: it was let through before.',
        isError: true,
      });
      expect(bank.paid.map(({ args }) => args)).to.deep.equal([ARGS]);
      expect(reasons()).to.deep.equal(['approval_required', 'approval_required', null, 'approval_spent']);
      expect(fixture.plane.asked('/oauth2/introspect')).to.equal(0);
    });
  }

  it('makes a client that opens URLs open the page, and repeat the call when the person has answered', async () => {
    const opened: string[] = [];
    const client = await connected(
      client2(bank.endpoint, token, async (url) => {
        opened.push(url);
        approvals.approve(digest());
        return 'accept';
      }),
    );
    expect(await client.call(ARGS)).to.deep.equal(PAID);
    expect(opened).to.deep.equal([approvals.uri(digest())]);
    // The tool gets nothing that the person did not approve.
    expect(bank.paid).to.deep.equal([{ args: ARGS, input: undefined }]);
    expect(reasons()).to.deep.equal(['approval_required', null]);
  });

  for (const action of ['accept', 'decline'] as const) {
    it(`is asked for once in a client that opens URLs: after ${action} without an approval it is an ordinary result`, async () => {
      let opened = 0;
      const client = await connected(
        client2(bank.endpoint, token, async () => {
          opened += 1;
          return action;
        }),
      );
      expect(await client.call(ARGS)).to.deep.equal(waiting());
      expect([opened, reasons()]).to.deep.equal([1, ['approval_required', 'approval_required']]);
    });
  }

  for (const [sdk, connect] of [
    ['SDK 1', (open: OpenPage) => client1(sessions(), token, open)],
    ['SDK 2', (open: OpenPage) => client2(sessions(), token, open, 'legacy')],
  ] as const) {
    it(`is an error of 2025-11-25 in a session of ${sdk} that opens URLs: the page is opened, and the call repeated once`, async () => {
      const opened: string[] = [];
      const client = await connected(
        connect(async (url) => {
          opened.push(url);
          approvals.approve(digest());
          return 'accept';
        }),
      );
      expect(await client.call(ARGS)).to.deep.equal(PAID);
      expect(opened).to.deep.equal([approvals.uri(digest())]);
      expect(bank.paid).to.deep.equal([{ args: ARGS, input: undefined }]);
      expect(reasons()).to.deep.equal(['approval_required', null]);
    });
  }

  it('is that error again until the person answers, and then an ordinary result', async () => {
    const opened: string[] = [];
    const client = await connected(
      client1(sessions(), token, async (url) => {
        opened.push(url);
        return 'decline';
      }),
    );
    const waiting = await client.call(ARGS).catch((error: unknown) => error);
    expect(waiting).to.be.instanceOf(UrlElicitationRequiredError);
    approvals.answer(digest(), 'expired');
    const text = 'The approval of this call expired. Repeat the call to ask again.';
    expect(await client.call(ARGS)).to.deep.equal({ text, isError: true });
    expect(opened).to.deep.equal([approvals.uri(digest())]);
    expect([bank.paid, reasons()]).to.deep.equal([[], ['approval_required', 'approval_required', 'approval_expired']]);
  });

  for (const [state, text] of [
    ['refused', 'The person refused this call.'],
    ['expired', 'The approval of this call expired. Repeat the call to ask again.'],
  ] as const) {
    it(`is an ordinary result, and no 403, when the control plane answers ${state}`, async () => {
      const client = await connected(client2(bank.endpoint, token, async () => 'decline'));
      await client.call(ARGS);
      approvals.answer(digest(), state);
      expect(await client.call(ARGS)).to.deep.equal({ text, isError: true });
      expect([reasons().at(-1), bank.paid]).to.deep.equal([`approval_${state}`, []]);
    });
  }

  it("has the person's line as a quotation, named as the person's words, in the result of a no", async () => {
    const client = await connected(client2(bank.endpoint, token, async () => 'decline'));
    await client.call(ARGS);
    approvals.answer(digest(), 'refused', 'Not to\u202e “Bob”: use ACME');
    const text = "The person refused this call. The person's words: «Not to\u202e “Bob”: use ACME»";
    expect(await client.call(ARGS)).to.deep.equal({ text, isError: true });
    expect([reasons().at(-1), bank.paid]).to.deep.equal(['approval_refused', []]);
  });

  it('is refused with 401 when the task is over, and with 503 while the control plane is away', async () => {
    const client = await connected(client1(bank.endpoint, token));
    await client.call(ARGS);
    const failed = () =>
      client.call(ARGS).then(
        () => undefined,
        ({ code }: { readonly code: unknown }) => code,
      );
    approvals.answer(digest(), 'inactive');
    expect(await failed()).to.equal(401);
    fixture.plane.answerApproval = (_, response) => response.socket?.destroy();
    expect(await failed()).to.equal(503);
    expect(reasons().slice(1)).to.deep.equal(['not_active', 'approval_unavailable']);
  });

  it('is no 503 when too many calls wait for the person: a model reads that only they can help', async () => {
    const client = await connected(client1(bank.endpoint, token));
    const answer = { error: 'slow_down', error_description: describeDenial('too_many_pending').sentence };
    fixture.plane.answerApproval = answering(answer, 429);
    const text = 'Too many calls wait for this person. Repeat the call when they have answered.';
    expect(await client.call(ARGS)).to.deep.equal({ text, isError: true });
    expect([bank.paid, reasons()]).to.deep.equal([[], ['too_many_pending']]);
  });

  const send = async (
    params: object,
    id: unknown = 7,
    more: Readonly<Record<string, string>> = {},
    url = bank.endpoint,
  ) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...more,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${await token()}`,
      },
      // JSON.stringify writes no number like these.
      body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }).replace(/"(-?1e-?400|9\d{15})"/, '$1'),
    });
    const challenge = response.headers.get('www-authenticate');
    return { status: response.status, text: await response.text(), challenge };
  };

  it('is asked for with a digest over audience, tool and arguments, however their text is written', async () => {
    for (const parsed of [false, true]) {
      await start(PAY, parsed);
      await send({ name: 'pay', arguments: { to: 'Bob\u00e9\u2028', amount: 1.2e1, note: 'a/b' } });
    }
    const text = `{"arguments":{"amount":12,"note":"a/b","to":"Bob\u00e9\u2028"},"audience":"${AUDIENCE}","tool":"pay"}`;
    const expected = createHash('sha256').update(text).digest('base64url');
    // The line separator cannot be shown, so this policy's text is refused: no person is asked.
    expect(approvals.asked).to.deep.equal([]);
    await start({ ...PAY, approval: () => ({ title: 'Pay' }) });
    await send({ name: 'pay', arguments: { to: 'Bob\u00e9\u2028', amount: 12, note: 'a/b' } });
    expect(approvals.asked.map(({ claims }) => [claims.digest, claims.task_id])).to.deep.equal([[expected, TASK_ID]]);
  });

  it('is described with a frozen copy, which the tool gets too, without any other parameter', async () => {
    const described: unknown[] = [];
    const before = {
      name: 'pay',
      arguments: ARGS,
      requestState: 'mine',
      inputResponses: { amount: { action: 'accept' } },
    };
    await start({
      ...PAY,
      approval(call) {
        described.push(call);
        expect(() => Object.assign(call.arguments, { to: 'Eve' })).to.throw(TypeError);
        expect(() => Object.assign(call, { tool: 'other' })).to.throw(TypeError);
        return { title: 'Pay' };
      },
    });
    await send(before);
    approvals.approve(digest());
    expect((await send(before)).status).to.equal(200);
    const { claims, ...rest } = described[1] as { readonly claims: { readonly sub: string } };
    expect([rest, claims.sub]).to.deep.equal([{ audience: AUDIENCE, tool: 'pay', arguments: ARGS }, 'ada']);
    expect(bank.paid).to.deep.equal([{ args: ARGS, input: undefined }]);
  });

  for (const [what, params, id, problem] of [
    [
      'a member __proto__',
      { name: 'pay', arguments: JSON.parse('{"to":{"__proto__":{}}}') },
      7,
      'have a member __proto__',
    ],
    [
      'an infinite number',
      { name: 'pay', arguments: { ...ARGS, amount: '1e400' } },
      7,
      'beyond all doubles: $.amount.',
    ],
    ['one below', { name: 'pay', arguments: { ...ARGS, a: [{ b: '-1e400' }] } }, 7, 'beyond all doubles: $.a[0].b.'],
    [
      'one of a name that no program has',
      { name: 'pay', arguments: { 'sk live': '1e400' } },
      7,
      'beyond all doubles: a member that the rules do not know.',
    ],
    ['a number that a double rounds to 0', { name: 'pay', arguments: { ...ARGS, amount: '1e-400' } }, 7, ': $.amount.'],
    ['a number beyond 2^53', { name: 'pay', arguments: { ...ARGS, amount: '9007199254740993' } }, 7, ': $.amount.'],
    ['a list as arguments', { name: 'pay', arguments: ['Bob'] }, 7, 'are no object'],
    ['a null id', { name: 'pay', arguments: ARGS }, null, ''],
  ] as const) {
    it(`is refused without a question for a call with ${what}`, async () => {
      const { status, text } = await send(params, id);
      const answer = JSON.parse(text);
      if (id === null) expect([status, answer.reason]).to.deep.equal([403, 'arguments_refused']);
      else expect([status, answer.id, answer.result.isError]).to.deep.equal([200, id, true]);
      expect(text).to.include(problem);
      expect([approvals.asked, bank.paid, reasons()]).to.deep.equal([[], [], ['arguments_refused']]);
    });
  }

  it('is refused with a result that names the line whose value cannot be shown, and a 403 only without an id', async () => {
    const label = 'Betrag – 金額';
    await start({
      ...PAY,
      approval: ({ arguments: { to } }) => ({ title: 'Pay', lines: [{ label, value: to as string }] }),
    });
    for (const [to, problem] of [
      [undefined, 'has no value'],
      ['', 'is blank'],
      [' \u200b', 'is blank'],
      ['Bob\nAmount: 1', 'has control characters or line breaks'],
      ['Bob'.repeat(70), 'is longer than 200 characters'],
    ] as const) {
      const { status, text, challenge } = await send({ name: 'pay', arguments: { to } });
      const { result } = JSON.parse(text);
      expect([status, result.isError, challenge]).to.deep.equal([200, true, null]);
      expect(result.content[0].text).to.equal(
        `The policy of the tool refuses these arguments. The line ${label} ${problem}.`,
      );
      expect(text).not.to.include('Bob');
    }
    const unanswered = await send({ name: 'pay', arguments: {} }, null);
    expect([unanswered.status, JSON.parse(unanswered.text).error]).to.deep.equal([403, 'arguments_refused']);
    expect(unanswered.challenge).to.include('arguments_refused').and.not.to.include('insufficient_scope');
    expect([approvals.asked, bank.paid, new Set(reasons())]).to.deep.equal([[], [], new Set(['arguments_refused'])]);
    expect(reasons()).to.have.lengthOf(6);
  });

  it('is not asked for if a body parser let _meta nest too deep for the message after the yes', async () => {
    await start(PAY, true);
    let deep: unknown = 1;
    for (let levels = 0; levels < 3000; levels += 1) deep = [deep];
    const { result } = JSON.parse((await send({ name: 'pay', arguments: ARGS, _meta: { deep } })).text);
    const sentence = 'The policy of the tool refuses these arguments. The member _meta nests too deep.';
    expect([result.isError, result.content[0].text]).to.deep.equal([true, sentence]);
    expect([approvals.asked, reasons()]).to.deep.equal([[], ['arguments_refused']]);
  });

  it('gets input_required only in the revision that has it, from a client that declares URLs', async () => {
    const kindOf = async (meta: object) => {
      const { result } = JSON.parse((await send({ name: 'pay', arguments: ARGS, _meta: meta })).text);
      return [result.resultType, result.isError];
    };
    const url = { elicitation: { url: {} } };
    expect(await kindOf({ [VERSION]: '2026-07-28', [CAPABILITIES]: url })).to.deep.equal(['input_required', undefined]);
    expect(await kindOf({ [VERSION]: '2026-07-28', [CAPABILITIES]: { elicitation: {} } })).to.deep.equal([
      'complete',
      true,
    ]);
    expect(await kindOf({ [VERSION]: '2026-07-28' })).to.deep.equal(['complete', true]);
    expect(await kindOf({ [CAPABILITIES]: url })).to.deep.equal([undefined, true]);
  });

  const begin = async (capabilities: unknown) => {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'payer', version: '1' } };
    const response = await fetch(sessions(), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${await token()}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    await response.text();
    return response.headers.get('mcp-session-id') ?? '';
  };
  const inSession = async (session: string, version: string | undefined, meta = {}) => {
    const headers = { 'mcp-session-id': session, ...(version && { 'mcp-protocol-version': version }) };
    const { status, text } = await send({ name: 'pay', arguments: ARGS, ...meta }, 'x7', headers, sessions());
    expect(status).to.equal(200);
    return JSON.parse(text);
  };

  it('has the members that MCP 2025-11-25 demands in the error, with the id of the approval', async () => {
    const session = await begin({ elicitation: { url: {} } });
    const message =
      'This call needs an approval. Open the page to read what the call does, and approve or refuse it there.';
    const answer = await inSession(session, '2025-11-25');
    const [url, elicitationId] = [approvals.uri(digest()), `apr_${digest()}`];
    expect(answer).to.deep.equal({
      jsonrpc: '2.0',
      id: 'x7',
      error: { code: -32042, message, data: { elicitations: [{ mode: 'url', elicitationId, url, message }] } },
    });
  });

  it('is that error only in a session whose client declared URLs, and in that revision', async () => {
    const opens = { elicitation: { url: {} } };
    const isResult = async (capabilities: unknown, version: string | undefined, meta = {}) =>
      (await inSession(await begin(capabilities), version, meta)).result?.isError === true;
    expect(await isResult(opens, '2025-11-25')).to.equal(false);
    for (const [capabilities, version] of [
      [opens, '2025-06-18'],
      [opens, undefined],
      [opens, '2025-11-25, 2025-11-25'],
      [{}, '2025-11-25'],
      [{ elicitation: {} }, '2025-11-25'],
      [{ elicitation: { form: {} } }, '2025-11-25'],
    ] as const) {
      expect(await isResult(capabilities, version), JSON.stringify([capabilities, version])).to.equal(true);
    }
    // What a call says of its client is for the revision that has no sessions.
    expect(await isResult({}, '2025-11-25', { _meta: { [CAPABILITIES]: opens } })).to.equal(true);
    const { text } = await send({ name: 'pay', arguments: ARGS }, 7, { 'mcp-protocol-version': '2025-11-25' });
    expect(JSON.parse(text).result.isError).to.equal(true);
  });

  it('passes without a question where the policy needs no yes, with name, arguments and _meta alone', async () => {
    await start({
      ...PAY,
      approval: (call) => (Number(call.arguments.amount) <= 12 ? 'not_needed' : { title: 'Pay' }),
    });
    const params = { name: 'pay', arguments: ARGS, inputResponses: { more: {} }, _meta: { a: 1 } };
    expect((await send(params)).text).to.include('Paid 12 to Bob');
    expect(bank.paid).to.deep.equal([{ args: ARGS, input: undefined }]);
    expect((await send({ name: 'pay', arguments: { ...ARGS, amount: 13 } })).text).to.include('has to approve');
    expect([approvals.asked.length, fixture.plane.asked('/oauth2/introspect')]).to.deep.equal([1, 0]);
    expect(
      events.filter(({ route }) => route === 'pay').map(({ reason, approval }) => [reason, approval]),
    ).to.deep.equal([
      [null, 'not_needed'],
      ['approval_required', undefined],
    ]);
  });

  it('is decided by authorize first, so that no person is asked about arguments that are refused anyway', async () => {
    await start({ ...PAY, authorize: ({ to }) => to !== 'Eve' });
    expect((await send({ name: 'pay', arguments: { to: 'Eve', amount: 1 } })).text).to.include(
      'refuses these arguments',
    );
    expect(approvals.asked).to.deep.equal([]);
    await send({ name: 'pay', arguments: ARGS });
    expect(reasons()).to.deep.equal(['arguments_refused', 'approval_required']);
    await start({ ...PAY, approval: () => false });
    expect((await send({ name: 'pay', arguments: ARGS })).text).to.include('refuses these arguments');
    expect([approvals.asked.length, reasons().at(-1)]).to.deep.equal([1, 'arguments_refused']);
  });
});
