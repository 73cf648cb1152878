/** MCP sessions belong to one person and agent, and streams end with their token. */

import http from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../../../support/eventually.ts';

import {
  bob,
  call,
  chain,
  FRONTS,
  guardedForEachTest,
  incomingWith,
  initialize,
  NOW,
  notification,
  read,
  rpc,
  type Sent,
} from '../../../../support/tool-server/guarded-messages.ts';

describe('The guard of an MCP server', () => {
  const guarded = guardedForEachTest();
  const { events, start, tokenWith, guardOf, send, decided } = guarded;

  describe('with sessions', () => {
    const started = async (claims: Sent['claims'] = {}) => {
      const answer = await send({ claims, body: initialize });
      expect(answer.status, answer.text).to.equal(200);
      return answer.headers.get('mcp-session-id') ?? '';
    };
    const inSession = (session: string, sent: Sent) =>
      send({ ...sent, headers: { 'mcp-session-id': session, ...sent.headers } });

    for (const [where, options] of FRONTS) {
      describe(where, () => {
        beforeEach(() => start({ sessions: true, ...options }));

        it('lets the same person and agent continue a session with another token', async () => {
          const session = await started();
          for (const claims of [{}, { jti: 'tok_2' }, { task: { id: 'task_2', exp: NOW + 60, sponsor: 'ada' } }]) {
            const answer = await inSession(session, { claims, body: read });
            expect(answer.status, answer.text).to.equal(200);
            expect(answer.headers.get('mcp-session-id')).to.equal(session);
          }
          expect((await inSession(session, { method: 'DELETE' })).status).to.equal(200);
          expect((await inSession(session, { body: read })).status).to.equal(404);
          expect(guarded.app.called).to.have.lengthOf(3);
        });

        for (const [who, claims] of [
          ['another person', bob],
          ['another agent', { act: chain('other') }],
          ['another agent that the first agent called', { act: chain('other', 'triage') }],
          ['the person alone', { act: undefined }],
        ] as const) {
          it(`answers ${who} as if the session were unknown`, async () => {
            const session = await started();
            events.length = 0;
            for (const sent of [
              { body: call('read_sprint') },
              { body: rpc('ping') },
              { body: { jsonrpc: '2.0', id: 7, result: {} } },
              { body: notification('notifications/cancelled', { requestId: 7 }) },
              { method: 'GET' },
              { method: 'DELETE' },
            ]) {
              const answer = await inSession(session, { ...sent, claims });
              const isTool = JSON.stringify(sent).includes('read_sprint');
              // This tool refuses a person without an agent.
              expect(answer.status, answer.text).to.equal(isTool && who === 'the person alone' ? 401 : 404);
              if (answer.status === 404) {
                expect(JSON.parse(answer.text).error).to.deep.equal({ code: -32001, message: 'Session not found' });
              }
            }
            expect(guarded.app.called).to.deep.equal([]);
            expect(new Set(events.map((event) => event.decision))).to.deep.equal(new Set(['deny']));
            expect(events).to.have.lengthOf(6);
            expect((await inSession(session, { body: read })).status).to.equal(200);
          });
        }

        it('refuses a session id that it did not issue, also the one that the SDK issued', async () => {
          const session = await started();
          const id = session.slice(0, session.lastIndexOf('.'));
          const other = await started(bob);
          for (const forged of [
            ...[id, `${id}.`, `.${session.split('.')[1]}`, `${id}.${other.split('.')[1]}`, `${session}A`, 'x', '.', ''],
            `${session}, ${session}`,
          ]) {
            expect((await inSession(forged, { body: read })).status, forged).to.equal(404);
          }
          expect(guarded.app.called).to.deep.equal([]);
        });
      });
    }

    for (const [where, options] of FRONTS) {
      it(`closes the stream of a session when its token expires, ${where}`, async () => {
        // With the clock skew the token is accepted for ten more milliseconds.
        await start({ sessions: true, ...options }, { now: () => NOW * 1000 - 10 });
        const session = await started();
        await expectCut(inSession(session, { method: 'GET', claims: { exp: NOW - 60 } }));
        expect(decided().at(-1)).to.deep.equal(['MCP GET', 'allow', null, 'ada']);
      });
    }
  });

  for (const [where, options] of FRONTS) {
    it(`ends a subscription when its token expires, ${where}`, async () => {
      await start(options, { now: () => NOW * 1000 - 10 });
      const meta = 'io.modelcontextprotocol/';
      const envelope = {
        [`${meta}protocolVersion`]: '2026-07-28',
        [`${meta}clientInfo`]: { name: 'test', version: '1' },
        [`${meta}clientCapabilities`]: {},
      };
      const body = rpc('subscriptions/listen', { notifications: { toolsListChanged: true }, _meta: envelope });
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
      await expectCut(send({ body, headers, claims: { exp: NOW - 60 } }));
      expect(decided()).to.deep.equal([['MCP subscriptions/listen', 'allow', null, 'ada']]);
    });
  }

  it('ends a subscription to resources when its token expires, also while its response waits for an earlier one', async () => {
    await start({}, { now: () => NOW * 1000 - 10 });
    const guard = guardOf({ methods: { 'resources/subscribe': { scope: ['jira:read'] } } });
    for (const body of [
      rpc('subscriptions/listen', { notifications: { resourceSubscriptions: ['jira://boards/1'] } }),
      rpc('resources/subscribe', { uri: 'jira://boards/1' }),
    ]) {
      // The response gets its connection after the earlier one.
      const socket = new Socket();
      const incoming = Object.assign(incomingWith(body, tokenWith({ exp: NOW - 60 })), { socket });
      const response = new http.ServerResponse(incoming);
      await new Promise<unknown>((resolve) => guard(incoming, response, resolve));
      await eventually(() => response.destroyed && socket.destroyed);
    }
    expect(decided()).to.deep.equal(Array(2).fill(['MCP resources/subscribe', 'allow', null, 'ada']));
  });
});

/** Fails unless the connection is cut before the whole response has arrived. */
async function expectCut(response: Promise<{ readonly text: string }>): Promise<void> {
  expect(await response.catch((error: unknown) => error)).to.be.instanceOf(TypeError);
}
