/** The policy of a tool that looks at the arguments of a call. */

import http from 'node:http';
import { inspect } from 'node:util';
import { expect } from 'chai';
import type { McpToolPolicy } from '../../../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { TASK_ID } from '../../../../support/tool-server/control-plane.ts';

import { call, guardedForEachTest, incomingWith } from '../../../../support/tool-server/guarded-messages.ts';

describe('The guard of an MCP server', () => {
  const guarded = guardedForEachTest();
  const { fixture, events, start, tokenWith, guardOf, send, statusOf, reasonOf, decided } = guarded;

  describe('asks the policy of a tool about the arguments', () => {
    const SECRET = 'the-salary-of-ada';
    const scope = ['jira:read'];
    const errors: unknown[] = [];
    type Authorize = NonNullable<McpToolPolicy['authorize']>;

    async function guarding(authorize: Authorize, options: Partial<McpToolPolicy> = {}, parsed = true): Promise<void> {
      errors.length = 0;
      const tools = { read_issue: { scope, authorize, ...options }, read_board: { scope } };
      await start({ tools, parsed, authorizeTimeoutMs: 30 }, { onError: (error) => void errors.push(error) });
    }
    const reading = (given?: unknown) => call('read_issue', given === undefined ? {} : { arguments: given });
    const expectNoSecret = (answer: { readonly text: string; readonly headers: Headers }) =>
      expect(
        JSON.stringify([answer.text, [...answer.headers], events, errors.map(String), inspect(errors)]),
      ).not.to.include(SECRET);

    for (const parsed of [true, false]) {
      it(`and runs the tool only if authorize() answers true${parsed ? '' : ', without a body parser'}`, async () => {
        await guarding(async ({ project }) => project === 'OPS', {}, parsed);
        expect(await statusOf({ body: reading({ project: 'OPS' }) })).to.equal(200);
        const answer = await send({ body: reading({ project: 'HR', of: SECRET }) });
        const content = [{ type: 'text', text: 'The policy of the tool refuses these arguments.' }];
        expect([answer.status, JSON.parse(answer.text)]).to.deep.equal([
          200,
          { jsonrpc: '2.0', id: 7, result: { content, isError: true } },
        ]);
        // More scopes would not help, so no client asks for them.
        expect(answer.headers.get('www-authenticate')).to.equal(null);
        expectNoSecret(answer);
        expect(await statusOf({ body: call('read_board', { arguments: { project: 'HR' } }) })).to.equal(200);
        expect(guarded.app.called).to.deep.equal(['read_issue', 'read_board']);
        expect(decided()).to.deep.equal([
          ['read_issue', 'allow', null, 'ada'],
          ['read_issue', 'deny', 'arguments_refused', 'ada'],
          ['read_board', 'allow', null, 'ada'],
        ]);
        expect(errors).to.deep.equal([]);
      });
    }

    it('with the verified claims and the name of the tool', async () => {
      const asked: unknown[] = [];
      await guarding((args, { claims, tool, signal }) => {
        asked.push([args, claims.sub, claims.act?.sub, claims.task?.id, tool, signal.aborted]);
        return true;
      });
      expect(await statusOf({ body: reading({ key: 'OPS-7' }) })).to.equal(200);
      expect(await statusOf({ body: reading() })).to.equal(200);
      expect(asked).to.deep.equal([
        [{ key: 'OPS-7' }, 'ada', 'agent:triage', TASK_ID, 'read_issue', false],
        [{}, 'ada', 'agent:triage', TASK_ID, 'read_issue', false],
      ]);
    });

    for (const [what, authorize, message] of [
      [
        'throws',
        ({ of }) => {
          throw new Error(`No rule for ${String(of)}.`);
        },
        'authorize of read_issue threw an error.',
      ],
      [
        'rejects',
        ({ of }) => Promise.reject(new Error(`No rule for ${String(of)}.`)),
        'authorize of read_issue threw an error.',
      ],
      ['never answers', () => new Promise(() => undefined), 'authorize of read_issue did not answer within 30 ms.'],
      ['answers a text', () => 'yes', 'authorize of read_issue answered neither true nor false.'],
      ['answers nothing', () => undefined, 'authorize of read_issue answered neither true nor false.'],
    ] as readonly (readonly [string, (args: Readonly<Record<string, unknown>>) => unknown, string])[]) {
      it(`and refuses the call if authorize() ${what}, and repeats no argument`, async () => {
        await guarding(authorize as Authorize);
        const answer = await send({ body: reading({ of: SECRET }) });
        expect([answer.status, JSON.parse(answer.text).reason]).to.deep.equal([503, 'policy_unavailable']);
        expect(errors.map((error) => (error as Error).message)).to.deep.equal([message]);
        expectNoSecret(answer);
        expect(decided()).to.deep.equal([['read_issue', 'deny', 'policy_unavailable', 'ada']]);
        expect(guarded.app.called).to.deep.equal([]);
      });
    }

    it('and aborts the signal of authorize() after its time limit', async () => {
      let signal: AbortSignal | undefined;
      await guarding((_, access) => {
        signal = access.signal;
        return new Promise(() => undefined);
      });
      expect(await statusOf({ body: reading() })).to.equal(503);
      expect(signal?.aborted).to.equal(true);
      expect(decided()).to.deep.equal([['read_issue', 'deny', 'policy_unavailable', 'ada']]);
    });

    it('only after it has verified and introspected the token', async () => {
      let asked = 0;
      await guarding(
        () => {
          asked += 1;
          return true;
        },
        { highRisk: true },
      );
      expect(await statusOf({ body: reading(), claims: { aud: 'https://wiki.example' } })).to.equal(401);
      expect(await statusOf({ body: reading(), claims: { scope: 'wiki:read' } })).to.equal(403);
      fixture.plane.answerIntrospection = (_, response) => void response.writeHead(200).end('{"active":false}');
      expect(await reasonOf({ body: reading() })).to.equal('not_active');
      expect(asked).to.equal(0);
      expect(decided().map(([, , reason]) => reason)).to.deep.equal([
        'wrong_audience',
        'insufficient_scope',
        'not_active',
      ]);
    });

    it('with a copy of the arguments, so that authorize() cannot change those of the tool', async () => {
      await guarding((args) => {
        (args as Record<string, unknown>).key = 'HR-1';
        return true;
      });
      const incoming = incomingWith(reading({ key: 'OPS-7' }), tokenWith());
      const guard = guardOf({
        tools: { read_issue: { scope, authorize: (args) => Reflect.set(args, 'key', 'HR-1') } },
      });
      await new Promise<unknown>((resolve) => guard(incoming, new http.ServerResponse(incoming), resolve));
      expect(incoming.body).to.deep.equal(reading({ key: 'OPS-7' }));
    });

    for (const [what, given, problem] of [
      ['a list', '["OPS-7"]', 'The arguments are no object.'],
      ['null', 'null', 'The arguments are no object.'],
      ['a text', '"OPS-7"', 'The arguments are no object.'],
      ['__proto__', '{"__proto__":{"project":"HR"}}', 'The arguments have a member __proto__.'],
      ['__proto__ inside', '{"filter":[{"__proto__":{"project":"HR"}}]}', 'The arguments have a member __proto__.'],
      // JSON.parse of a body parser accepts them.
      ['20,000 levels', `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'The arguments nest too deep.'],
      ['1e400', '{"filter":[{"max":1e400}]}', 'A number is beyond all doubles: $.filter[0].max.'],
    ] as const) {
      it(`but refuses arguments that two readers could understand differently: ${what}`, async () => {
        await guarding(() => true);
        const body = JSON.stringify(reading('GIVEN')).replace('"GIVEN"', given);
        const answer = await send({ body });
        const { result } = JSON.parse(answer.text);
        const sentence = `The policy of the tool refuses these arguments. ${problem}`;
        expect([answer.status, result.isError, result.content[0].text]).to.deep.equal([200, true, sentence]);
        expect(decided()).to.deep.equal([['read_issue', 'deny', 'arguments_refused', 'ada']]);
        expect(guarded.app.called).to.deep.equal([]);
      });
    }

    for (const parsed of [true, false]) {
      it(`and refuses a call with the id that was sent${parsed ? '' : ', without a body parser'}`, async () => {
        await guarding(() => false, {}, parsed);
        const refused = async (id: string) => {
          const { status, text } = await send({ body: JSON.stringify(reading()).replace('"id":7', id) });
          return [status, text.slice(0, text.indexOf(',"result"'))];
        };
        for (const id of ['"9007199254740993"', '""', '0', '-1', '9007199254740991'])
          expect(await refused(`"id":${id}`)).to.deep.equal([200, `{"jsonrpc":"2.0","id":${id}`]);
        // A parser in front may have rounded it.
        const [status] = await refused('"id":9007199254740993');
        expect(status).to.equal(parsed ? 403 : 200);
        if (!parsed) expect((await refused('"id":1.50'))[1]).to.equal('{"jsonrpc":"2.0","id":1.50');
        // No answer reaches a client that waits for none.
        for (const none of ['"id":null', '"x":1']) expect((await refused(none))[0]).to.equal(403);
        expect(new Set(decided().map(([, , reason]) => reason))).to.deep.equal(new Set(['arguments_refused']));
      });
    }
  });
});
