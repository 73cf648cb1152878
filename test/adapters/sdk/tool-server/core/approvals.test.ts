/** Calls of web frameworks that a person has to approve: what is signed and asked, each answer, and what the handler gets. */

import { createHash, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import express from 'express';
import fastify from 'fastify';
import { decodeJwt } from 'jose';
import type { HttpCall } from '../../../../../adapters/sdk/tool-server/core/approval-text.ts';
import type {
  CallToApprove,
  ToolServer,
  ToolServerOptions,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import {
  claimsOf,
  expressProtection,
  type HttpRoutePolicy,
} from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { mandateProtection } from '../../../../../adapters/sdk/tool-server/fastify/fastify.ts';
import { describeDenial } from '../../../../../domain/denial.ts';
import { eventually } from '../../../../support/eventually.ts';
import { closeServer, listen } from '../../../../support/listening.ts';
import { answering } from '../../../../support/loopback.ts';
import { misreadBytes } from '../../../../support/misread-bytes.ts';
import { type FakeApprovals, fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import { AUDIENCE, planeForEachTest, TASK_ID } from '../../../../support/tool-server/control-plane.ts';
import type { GuardedApp } from '../../../../support/tool-server/guarded-apps.ts';
import { rawRequest } from '../../../../support/tool-server/raw-request.ts';

const NOW = 1_900_000_000;
const TARGET = '/payments/7?dry=no';
const BODY = '{"to": "Bob", "amount": 12, "notes": [{"b": 1, "a": 1.50}]}';
const PARSED = { to: 'Bob', amount: 12, notes: [{ b: 1, a: 1.5 }] };

interface Handled {
  readonly body: unknown;
  readonly sub: string;
}
type Start = (toolServer: ToolServer, policy: HttpRoutePolicy, handled: Handled[]) => Promise<GuardedApp>;

const onExpress =
  (makeApp: typeof express, mount: (app: express.Express) => express.IRouter = (app) => app): Start =>
  async (toolServer, policy, handled) => {
    const app = makeApp();
    const protect = expressProtection(toolServer);
    mount(app).all('/:id', protect(policy), (request: express.Request, response: express.Response) => {
      handled.push({ body: request.body, sub: claimsOf(request).sub });
      response.json({ done: true });
    });
    const server = createServer(app);
    return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => closeServer(server) };
  };
const inRouter = (app: express.Express) => {
  const router = express.Router();
  app.use('/payments', router);
  return router;
};

const SCHEMA = { type: 'object', properties: { amount: { type: 'number' } } };
const onFastifyWith =
  (more: object): Start =>
  async (toolServer, mandate, handled) => {
    const app = fastify({ forceCloseConnections: true });
    await app.register(mandateProtection, { toolServer });
    const handler = async (request: { readonly body: unknown }) => {
      handled.push({ body: request.body, sub: claimsOf(request).sub });
      return { done: true };
    };
    const route = { url: '/payments/:id', config: { mandate }, handler };
    app.route({ ...route, method: 'GET' });
    app.route({ ...route, method: 'POST', schema: { body: SCHEMA }, ...more });
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
  };

const express4: typeof express = createRequire(import.meta.url)('express4');
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

for (const [name, start] of [
  ['Express', onExpress(express, inRouter)],
  ['Express 4', onExpress(express4, inRouter)],
  ['Fastify', onFastifyWith({})],
] as const) {
  describe(`A call that a person approves, on ${name}`, () => {
    const fixture = planeForEachTest(() => NOW);
    const { events } = fixture;
    let approvals: FakeApprovals;
    let app: GuardedApp;
    const handled: Handled[] = [];
    const described: HttpCall[] = [];
    const errors: unknown[] = [];

    const policy: HttpRoutePolicy = {
      scope: ['jira:read'],
      approval(call) {
        described.push(call);
        const { to, amount } = (call.body ?? {}) as Readonly<Record<string, unknown>>;
        return { title: `Pay ${amount} to ${to}`, lines: [{ label: 'Recipient', value: `${to}` }] };
      },
    };
    async function started(given: HttpRoutePolicy = policy, options: Partial<ToolServerOptions> = {}): Promise<void> {
      await app?.stop();
      const toolServer = fixture.toolServer({
        approvalKey: { jwk: { ...approvals.key.privateJwk } },
        now: () => NOW * 1000,
        onError: (error) => void errors.push(error),
        ...options,
      });
      app = await start(toolServer, given, handled);
    }
    beforeEach(async () => {
      for (const list of [handled, described, errors]) list.length = 0;
      approvals = await fakeApprovals(fixture.plane, () => NOW);
      await started();
    });
    afterEach(() => app.stop());

    const JSON_BODY = [['Content-Type', 'application/json; charset=utf-8']] as const;
    const call = async (
      body: string | Uint8Array = BODY,
      { target = TARGET, claims = {}, type = JSON_BODY as readonly (readonly [string, string])[] } = {},
    ) => {
      const authorization = ['Authorization', `Bearer ${fixture.plane.token(claims)}`] as const;
      const answer = await rawRequest(`${app.url}${target}`, 'POST', [authorization, ...type], body);
      return { ...answer, json: JSON.parse(answer.body) as Readonly<Record<string, unknown>> };
    };
    const reasonOf = async (...given: Parameters<typeof call>) => (await call(...given)).json.reason;
    const digest = () => approvals.asked.at(-1)?.claims.digest ?? '';

    it('waits with 403, and is let through exactly once after the approval, with the value that was digested', async () => {
      const waiting = await call();
      const uri = approvals.uri(digest());
      expect([waiting.status, waiting.json]).to.deep.equal([
        403,
        {
          error: 'approval_required',
          error_description: 'A person has to approve this call at approval_uri. Then repeat it.',
          reason: 'approval_required',
          approval_uri: uri,
        },
      ]);
      expect(waiting.headers['retry-after']).to.equal('5');
      // A client that reads it must not ask for more scopes.
      expect(waiting.headers['www-authenticate']).to.include('error="approval_required"').and.not.include('scope');
      approvals.approve(digest());
      expect((await call()).status).to.equal(200);
      expect(await reasonOf()).to.equal('approval_spent');

      expect(handled).to.deep.equal([{ body: PARSED, sub: 'ada' }]);
      const frozen = handled[0]?.body as typeof PARSED;
      expect([frozen, frozen.notes, frozen.notes[0]].map(Object.isFrozen)).to.deep.equal([true, true, true]);
      expect(events.map(({ decision, reason, task_id }) => [decision, reason, task_id])).to.deep.equal([
        ['deny', 'approval_required', TASK_ID],
        ['allow', null, TASK_ID],
        ['deny', 'approval_spent', TASK_ID],
      ]);
      // The answer to the request for approval replaces the introspection.
      expect(fixture.plane.asked('/oauth2/introspect')).to.equal(0);
      expect(fixture.plane.asked('/oauth2/approval')).to.equal(3);
    });

    it('is asked for with a signed description of what the server received, and with the task token', async () => {
      await call();
      await call();
      const [first, second] = approvals.asked;
      expect(first?.header).to.deep.equal({ alg: 'ES256', typ: 'approval-request+jwt', kid: approvals.key.kid });
      const { jti, ...claims } = first?.claims ?? { jti: undefined };
      expect(claims).to.deep.equal({
        iss: AUDIENCE,
        aud: fixture.plane.issuer,
        iat: NOW,
        exp: NOW + 60,
        task_id: TASK_ID,
        digest: sha256(`{"audience":"${AUDIENCE}","body":"${sha256(BODY)}","method":"POST","target":"${TARGET}"}`),
        title: 'Pay 12 to Bob',
        lines: [{ label: 'Recipient', value: 'Bob' }],
      });
      expect([typeof jti, jti === second?.claims.jti]).to.deep.equal(['string', false]);
      expect(decodeJwt(first?.token ?? '')).to.deep.equal(decodeJwt(fixture.plane.token()));
      const [{ claims: caller, ...of } = expect.fail()] = described;
      expect(of).to.deep.equal({ audience: AUDIENCE, method: 'POST', target: TARGET, body: PARSED });
      expect([caller.sub, caller.act?.sub, Object.isFrozen(described[0]), Object.isFrozen(caller.scope)]).to.deep.equal(
        ['ada', 'agent:triage', true, true],
      );
    });

    it('has another digest when one byte of body, target or method differs', async () => {
      for (const [body, target] of [
        [BODY, TARGET],
        [`${BODY} `, TARGET],
        [BODY, `${TARGET}&`],
        ['', TARGET],
      ] as const) {
        await call(body, { target });
      }
      const get = [['Authorization', `Bearer ${fixture.plane.token()}`]] as const;
      await rawRequest(`${app.url}${TARGET}`, 'GET', get);
      expect(new Set(approvals.asked.map(({ claims }) => claims.digest)).size).to.equal(5);
      expect(described.at(-1)?.body).to.equal(undefined);
    });

    for (const [state, status, reason] of [
      ['refused', 403, 'approval_refused'],
      ['expired', 403, 'approval_expired'],
      ['spent', 403, 'approval_spent'],
      ['inactive', 401, 'not_active'],
      ['approved', 503, 'approval_unavailable'],
    ] as const) {
      it(`is refused with ${reason} when the control plane answers ${state}`, async () => {
        await call();
        approvals.answer(digest(), state);
        const answer = await call();
        expect([answer.status, answer.json.reason]).to.deep.equal([status, reason]);
        expect([events.at(-1)?.decision, events.at(-1)?.reason, handled]).to.deep.equal(['deny', reason, []]);
      });
    }

    it("is refused with the person's line in the body alone: no header and no event has it", async () => {
      const line = 'Wrong account\u202e “é” "';
      await call();
      approvals.answer(digest(), 'refused');
      const { json: plain } = await call();
      approvals.answer(digest(), 'refused', line);
      const answer = await call();
      expect(answer.json).to.deep.equal({ ...plain, person_says: line });
      expect(JSON.stringify([answer.headers, events])).not.to.contain('Wrong account');
    });

    it('is refused with 429 when too many calls wait for the person', async () => {
      const answer = { error: 'slow_down', error_description: describeDenial('too_many_pending').sentence };
      fixture.plane.answerApproval = (_, response) =>
        response.writeHead(429, { 'retry-after': '5' }).end(JSON.stringify(answer));
      const { status, json, headers } = await call();
      expect([status, json.reason, json.error, headers['retry-after']]).to.deep.equal([
        429,
        'too_many_pending',
        'slow_down',
        '5',
      ]);
      expect([events.map(({ reason }) => reason), handled, errors]).to.deep.equal([['too_many_pending'], [], []]);
    });

    it('is refused with 503 while the control plane is away, asked too often, or is not set up for it', async () => {
      const { plane } = fixture;
      plane.answerApproval = (_, response) =>
        response.writeHead(429, { 'retry-after': '7' }).end('{"error":"slow_down"}');
      const tooMany = await call();
      expect([tooMany.status, tooMany.json.reason, tooMany.headers['retry-after']]).to.deep.equal([
        503,
        'approval_unavailable',
        '7',
      ]);
      plane.answerApproval = (_, response) => response.socket?.destroy();
      expect(await reasonOf()).to.equal('approval_unavailable');
      const elsewhere = [
        'https://other.example/me/approvals/1',
        `${plane.issuer}/me`,
        `${approvals.uri('1')}?to=x`,
        `${approvals.uri('1')}\nPay.`,
      ];
      for (const uri of elsewhere) {
        plane.answerApproval = answering({ state: 'pending', approval_uri: uri, interval: 5 });
        expect(await reasonOf()).to.equal('approval_unavailable');
      }
      expect(errors).to.deep.equal([]);
      for (const status of [400, 404]) {
        plane.answerApproval = answering({ error: 'invalid_request' }, status);
        expect(await reasonOf()).to.equal('approval_unavailable');
      }
      expect(errors.map((error) => (error as Error).message)).to.deep.equal([
        `The control plane ${plane.issuer} refused a request for approval. Compare the approval key and the audience of this server with its setting Service:Approvals:Resources, and the clocks.`,
        `The control plane ${plane.issuer} has no endpoint for approvals. Its setting Service:Approvals:Enabled switches it on.`,
      ]);
      expect(events.map(({ reason }) => reason)).to.deep.equal(
        Array(4 + elsewhere.length).fill('approval_unavailable'),
      );
      expect(handled).to.deep.equal([]);
    });

    for (const [what, body, type, reason, status] of [
      ['a repeated member', '{"to":"Bob","to":"Eve"}', 'application/json', 'malformed_body', 400],
      ['a member __proto__', '{"notes":[{"__proto__":{"to":"Eve"}}]}', 'application/json', 'malformed_body', 400],
      ['an infinite number', '{"to":"Bob","amount":1e400}', 'application/json', 'malformed_body', 400],
      ['half of its JSON', '{"to":', 'application/json', 'malformed_body', 400],
      ...misreadBytes(BODY).map(([what, bytes]) => [what, bytes, 'application/json', 'malformed_body', 400] as const),
      ['a form', 'to=Bob', 'application/x-www-form-urlencoded', 'malformed_body', 400],
      ['JSON of another media type', BODY, 'text/plain', 'malformed_body', 400],
      ['over 1 MiB', `"${'x'.repeat(1024 * 1024)}"`, 'application/json', 'body_too_long', 413],
    ] as const) {
      it(`is refused with ${reason} for a body with ${what}, and no person is asked`, async () => {
        const answer = await call(body, { type: [['Content-Type', type]] });
        expect([answer.status, answer.json.reason, answer.json.error]).to.deep.equal([
          status,
          reason,
          'invalid_request',
        ]);
        expect([answer.headers.connection, answer.headers['www-authenticate']]).to.deep.equal(['close', undefined]);
        expect([approvals.asked, described, handled]).to.deep.equal([[], [], []]);
        expect(events.map((event) => [event.reason, event.sub])).to.deep.equal([[reason, 'ada']]);
      });
    }

    it('is refused with one event if its body is compressed, or its connection is cut in the middle of the body', async () => {
      expect(await reasonOf(BODY, { type: [...JSON_BODY, ['Content-Encoding', 'gzip']] })).to.equal('malformed_body');
      const { port, hostname } = new URL(app.url);
      const lines = [
        `POST ${TARGET} HTTP/1.1`,
        `Host: ${hostname}`,
        `Authorization: Bearer ${fixture.plane.token()}`,
        'Content-Type: application/json',
        `Content-Length: ${BODY.length + 1}`,
      ];
      const socket = connect(Number(port), hostname);
      await new Promise((sent) => socket.write(`${lines.join('\r\n')}\r\n\r\n${BODY}`, sent));
      socket.destroy();
      await eventually(() => events.length >= 2);
      await setImmediate();
      expect(events.map(({ reason, sub }) => [reason, sub])).to.deep.equal(Array(2).fill(['malformed_body', 'ada']));
      expect([approvals.asked, described, handled]).to.deep.equal([[], [], []]);
    });

    it('is not read and not asked for, if token or scope do not allow it', async () => {
      expect(await reasonOf(BODY, { claims: { scope: 'wiki:read' } })).to.equal('insufficient_scope');
      expect(await reasonOf(BODY, { claims: { aud: 'https://wiki.example' } })).to.equal('wrong_audience');
      expect(await reasonOf(BODY, { claims: { task: undefined } })).to.equal('no_actor');
      expect([described, approvals.asked]).to.deep.equal([[], []]);
    });

    for (const [what, approval, message] of [
      [
        'throws',
        () => {
          throw new Error('Bob');
        },
        'approval threw an error.',
      ],
      ['rejects', () => Promise.reject(new Error('Bob')), 'approval threw an error.'],
      ['returns nothing', () => undefined, "approval must answer { title, lines }, 'not_needed' or false."],
      ['returns true', () => true, "approval must answer { title, lines }, 'not_needed' or false."],
      ['returns a text', () => 'not needed', "approval must answer { title, lines }, 'not_needed' or false."],
      ['returns a list', () => ['Pay'], "approval must answer { title, lines }, 'not_needed' or false."],
      [
        'returns no title',
        () => ({ lines: [] }),
        'approval: title must be a text of 1 to 120 characters that is not blank, without control characters and line breaks.',
      ],
      [
        'returns a line break',
        () => ({ title: 'Pay\nBob' }),
        'approval: title must be a text of 1 to 120 characters that is not blank, without control characters and line breaks.',
      ],
      [
        'returns eleven lines',
        () => ({ title: 'Pay', lines: Array(11).fill({ label: 'a', value: 'b' }) }),
        'approval: lines must be a list of at most 10 lines.',
      ],
      [
        'returns a text of over 8 KiB',
        () => ({ title: 'Pay', lines: Array(10).fill({ label: 'a', value: '漢'.repeat(200) }) }),
        'The title and lines of an approval are too long: the request has over 8192 bytes.',
      ],
    ] as readonly (readonly [string, () => unknown, string])[]) {
      it(`is refused with policy_unavailable if the function ${what}, and the error quotes nothing of the call`, async () => {
        await started({ ...policy, approval: approval as NonNullable<HttpRoutePolicy['approval']> });
        const answer = await call();
        expect([answer.status, answer.json.reason]).to.deep.equal([503, 'policy_unavailable']);
        expect(errors.map((error) => (error as Error).message)).to.deep.equal([message]);
        expect(JSON.stringify([answer.json, events])).not.to.include('Bob');
        expect([events.length, approvals.asked, handled]).to.deep.equal([1, [], []]);
      });
    }

    it('is refused with arguments_refused if the value of a line cannot be shown, and no person is asked', async () => {
      for (const value of [undefined, ' ', 'Bob\n', 'Bob'.repeat(70)]) {
        const approval = () => ({ title: 'Pay', lines: [{ label: 'To', value }] });
        await started({ ...policy, approval: approval as NonNullable<HttpRoutePolicy['approval']> });
        const answer = await call();
        expect([answer.status, answer.json.reason]).to.deep.equal([403, 'arguments_refused']);
        expect(answer.json.error_description).to.match(/ The line To (has|is) [^:]+\.$/);
        expect(JSON.stringify([answer.json, events])).not.to.include('Bob');
      }
      expect([errors, approvals.asked, handled]).to.deep.equal([[], [], []]);
      expect(events.at(-1)?.reason).to.equal('arguments_refused');
      // A label is the policy's own text.
      const approval = () => ({ title: 'Pay', lines: [{ label: '', value: '' }] });
      await started({ ...policy, approval });
      expect((await call()).json.reason).to.equal('policy_unavailable');
    });

    it('is refused with arguments_refused if the function returns false, and no person is asked', async () => {
      await started({ ...policy, approval: async () => false as const });
      const answer = await call();
      expect([answer.status, answer.json.reason]).to.deep.equal([403, 'arguments_refused']);
      expect([events.map(({ reason }) => reason), errors]).to.deep.equal([['arguments_refused'], []]);
      expect([approvals.asked, handled]).to.deep.equal([[], []]);
    });

    for (const [what, from, to, part] of [
      ['a number of the call', '12', '9007199254740993', /: \$\.[a-z]+\.$/],
      ['one inside a list', '12', '[{"fee": 1}, {"fee": 0.10000000000000000555}]', /: \$\.[a-z]+\[1\]\.fee\.$/],
      ['one of a name that no program has', '12', '{"sk live": -0}', /: a member that the rules do not know\.$/],
    ] as const) {
      it(`is refused for ${what} that a double rounds, with its path and no value`, async () => {
        await started();
        const answer = await call(BODY.replace(from, to));
        const { reason, error_description: text } = answer.json;
        expect([answer.status, reason]).to.deep.equal([403, 'arguments_refused']);
        expect(text)
          .to.match(/A number has more digits, or another sign, than every reader keeps/)
          .and.match(part);
        expect(text).not.to.match(/9007|live|555/);
        expect([events.map((event) => event.reason), approvals.asked, handled]).to.deep.equal([
          ['arguments_refused'],
          [],
          [],
        ]);
      });
    }

    describe('that needs no approval', () => {
      const unless = (answer: unknown): HttpRoutePolicy => ({
        ...policy,
        approval: (call) => {
          described.push(call);
          return answer as 'not_needed';
        },
      });

      it('passes with the frozen value, and its event says so', async () => {
        await started(unless('not_needed'));
        expect((await call()).status).to.equal(200);
        expect(handled).to.deep.equal([{ body: PARSED, sub: 'ada' }]);
        expect(handled[0]?.body).to.equal(described[0]?.body);
        expect(handled[0]?.body).to.satisfy(Object.isFrozen);
        expect(events.map(({ decision, approval }) => [decision, approval])).to.deep.equal([['allow', 'not_needed']]);
        expect([approvals.asked, fixture.plane.asked('/oauth2/introspect')]).to.deep.equal([[], 0]);
      });

      for (const [what, claims, given] of [
        ['whose policy is highRisk', {}, { highRisk: true }],
        ['whose token asks for an introspection', { introspect_required: true }, {}],
      ] as const) {
        it(`is introspected if it is one ${what}, and refused if the task has ended`, async () => {
          await started({ ...unless('not_needed'), ...given });
          expect((await call(BODY, { claims })).status).to.equal(200);
          fixture.plane.answerIntrospection = answering({ active: false });
          expect((await call(BODY, { claims })).json.reason).to.equal('not_active');
          expect(events.map(({ reason, approval }) => [reason, approval])).to.deep.equal([
            [null, 'not_needed'],
            ['not_active', 'not_needed'],
          ]);
          expect([fixture.plane.asked('/oauth2/introspect'), handled.length]).to.deep.equal([2, 1]);
        });
      }

      it('is refused without a status, as without approval, if onStale is refuse', async () => {
        await started(unless('not_needed'), { statusList: { onStale: 'refuse' } });
        expect((await call()).json.reason).to.equal('status_unavailable');
        expect([events.map(({ approval }) => approval), handled]).to.deep.equal([['not_needed'], []]);
      });

      it('is refused with a number that a double rounds, because the function has seen another one', async () => {
        await started(unless('not_needed'));
        expect((await call(BODY.replace('12', '0.10000000000000000555'))).json.reason).to.equal('arguments_refused');
        expect(events.map(({ reason, approval }) => [reason, approval])).to.deep.equal([
          ['arguments_refused', undefined],
        ]);
      });

      for (const answer of ['notNeeded', 'needed', true, null, ['not_needed']]) {
        it(`is refused with policy_unavailable if the function answers ${JSON.stringify(answer)}`, async () => {
          await started(unless(answer));
          expect((await call()).json.reason).to.equal('policy_unavailable');
          expect([events.map(({ approval }) => approval), approvals.asked, handled]).to.deep.equal([
            [undefined],
            [],
            [],
          ]);
        });
      }
    });

    it('is asked for with a key in PEM and with a signer too', async () => {
      const { privateKey, kid } = approvals.key;
      const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
      const signed = (input: Uint8Array) => sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      for (const approvalKey of [
        { pem, kid },
        { alg: 'ES256', kid, sign: signed },
      ] as const) {
        await started(policy, { approvalKey });
        expect(await reasonOf()).to.equal('approval_required');
      }
    });

    it('fails the start without approvalKey', async () => {
      const toolServer = fixture.toolServer();
      const failed = await start(toolServer, policy, handled).then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failed).to.be.instanceOf(TypeError);
      expect(failed?.message).to.include('a policy with approval needs the option approvalKey of createToolServer.');
    });

    if (name === 'Fastify') {
      for (const [what, more] of [
        ['converts', { schema: { body: { type: 'object', properties: { amount: { type: 'string' } } } } }],
        [
          'drops a member of',
          { schema: { body: { type: 'object', properties: { to: {}, notes: {} }, additionalProperties: false } } },
        ],
        ['adds a default to', { schema: { body: { type: 'object', properties: { bank: { default: 'Eve' } } } } }],
        [
          'replaces',
          { preValidation: async (request: object) => void Object.assign(request, { body: { to: 'Eve' } }) },
        ],
      ] as const) {
        it(`does not run if the route ${what} the body, because the handler would get an unchecked value`, async () => {
          await app.stop();
          const toolServer = fixture.toolServer({
            approvalKey: { jwk: { ...approvals.key.privateJwk } },
            now: () => NOW * 1000,
          });
          app = await onFastifyWith(more)(toolServer, policy, handled);
          await call();
          approvals.approve(digest());
          const answer = await call();
          expect([answer.status, answer.json.message]).to.deep.equal([
            400,
            'The schema, a parser or a hook of the route changes this body, which a person has approved as it is.',
          ]);
          expect(handled).to.deep.equal([]);
        });
      }

      it('has no route that is chosen by a header, because one approval would be for several handlers', async () => {
        const toolServer = fixture.toolServer({ approvalKey: { jwk: { ...approvals.key.privateJwk } } });
        const failed = await onFastifyWith({ constraints: { version: '2.0.0' } })(toolServer, policy, handled).then(
          () => undefined,
          (error: Error) => error,
        );
        expect(failed).to.be.instanceOf(TypeError);
        expect(failed?.message).to.equal(
          'config.mandate of POST /payments/:id: a route with approval has no constraints. They choose it by headers, not by the call.',
        );
      });
      return;
    }

    const parsed = name === 'Express' ? express : express4;
    for (const [what, before] of [
      ['a body parser', parsed.json()],
      [
        'a middleware that reads the body',
        (request, _, next) => {
          request.resume().once('end', () => next());
        },
      ],
      [
        'a middleware that has another body',
        (request, _, next) => {
          request.body = { to: 'Eve' };
          next();
        },
      ],
    ] as readonly (readonly [string, express.RequestHandler])[]) {
      it(`is refused if ${what} precedes the policy`, async () => {
        await app.stop();
        const toolServer = fixture.toolServer({
          approvalKey: { jwk: { ...approvals.key.privateJwk } },
          now: () => NOW * 1000,
          onError: (error) => void errors.push(error),
        });
        const mounted = (outer: express.Express) => {
          outer.use(before);
          return inRouter(outer);
        };
        app = await onExpress(parsed, mounted)(toolServer, policy, handled);
        expect(await reasonOf()).to.equal('policy_unavailable');
        expect(errors.map((error) => (error as Error).message)).to.deep.equal([
          'A body parser precedes a policy with approval: the body must be read by the policy itself.',
        ]);
        expect([approvals.asked, handled]).to.deep.equal([[], []]);
      });
    }
  });
}

describe('A call that a person approves, without a framework', () => {
  const fixture = planeForEachTest(() => NOW);
  const DIGEST = sha256('DELETE /payments/7');

  it('asks with the given digest and text, and refuses wrong ones before a person is asked', async () => {
    const approvals = await fakeApprovals(fixture.plane, () => NOW);
    const errors: string[] = [];
    const options = { now: () => NOW * 1000, onError: (error: unknown) => void errors.push((error as Error).message) };
    const asking = fixture.toolServer({ ...options, approvalKey: { jwk: { ...approvals.key.privateJwk } } });
    const reasonOf = async (call: object, toolServer = asking) => {
      const access = await toolServer.authorize({
        route: 'delete_payment',
        policy: toolServer.policy({ scope: ['jira:read'] }),
        token: fixture.plane.token(),
        approval: async () => call as CallToApprove,
      });
      return access.kind === 'refused' ? access.reason : null;
    };
    expect(await reasonOf({ digest: DIGEST, title: 'Delete' })).to.equal('approval_required');
    expect(approvals.asked.map(({ claims }) => [claims.digest, claims.title, claims.lines])).to.deep.equal([
      [DIGEST, 'Delete', []],
    ]);
    approvals.approve(DIGEST);
    expect(await reasonOf({ digest: DIGEST, title: 'Delete' })).to.equal(null);
    for (const digest of ['Bob', `${DIGEST}=`, createHash('sha256').update('Bob').digest('hex'), undefined]) {
      expect(await reasonOf({ digest, title: 'Delete' })).to.equal('policy_unavailable');
    }
    expect(await reasonOf({ digest: DIGEST, title: 'Pay\nBob' })).to.equal('policy_unavailable');
    expect(await reasonOf({ digest: DIGEST, title: 'Delete' }, fixture.toolServer(options))).to.equal('internal_error');
    expect(errors).to.deep.equal([
      ...Array(4).fill('approval: digest must be a SHA-256 in base64url.'),
      'approval: title must be a text of 1 to 120 characters that is not blank, without control characters and line breaks.',
      'createToolServer has no approvalKey, so no approval can be asked for.',
    ]);
    expect(approvals.asked).to.have.lengthOf(2);
    expect(fixture.events.map(({ route, reason }) => [route, reason])).to.deep.equal(
      ['approval_required', null, ...Array(5).fill('policy_unavailable'), 'internal_error'].map((reason) => [
        'delete_payment',
        reason,
      ]),
    );
  });
});
