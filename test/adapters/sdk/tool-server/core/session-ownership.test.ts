/** The HMAC on a session id, in every place where a request or an answer holds the id. */

import http from 'node:http';
import { expect } from 'chai';
import type { TaskTokenClaims } from '../../../../../adapters/sdk/tool-server/core/claims.ts';
import {
  presentedSession,
  replaceSession,
  sessionOwnership,
} from '../../../../../adapters/sdk/tool-server/core/session-ownership.ts';
import { loopbackForSuite } from '../../../../support/loopback.ts';

const ID = 'a-session.with-a-dot';

function claimsOf(sub: string, agent?: string, task = 'task_a', iss = 'https://a.example'): TaskTokenClaims {
  const act = agent === undefined ? undefined : { sub: `agent:${agent}`, depth: 1 };
  return { iss, sub, act, jti: `tok_${task}`, task: { id: task, exp: 1, sponsor: sub } } as unknown as TaskTokenClaims;
}
const ada = claimsOf('ada', 'triage');

describe('The session of an MCP client', () => {
  const sessions = sessionOwnership();

  const server = loopbackForSuite();

  /** The session id that a client gets when `write` sets the header. */
  async function given(
    write: (response: http.ServerResponse) => void,
    claims = ada,
    by = sessions,
    passes = (id: string): boolean => id === ID,
    opensUrls = false,
  ): Promise<string> {
    server.answer = (_, response) => {
      by.mark(response, claims, { passes, opensUrls });
      write(response);
      response.end();
    };
    return (await fetch(server.url)).headers.get('mcp-session-id') ?? '';
  }
  const idOf = (presented: string, claims: TaskTokenClaims) => sessions.find(presented, claims)?.id;
  const marked = (claims = ada, by = sessions) =>
    given((response) => response.writeHead(200, { 'mcp-session-id': ID }), claims, by);

  it('belongs to its person and agent, with any token of any task', async () => {
    expect(idOf(await marked(), ada)).to.equal(ID);
    expect(idOf(await marked(), claimsOf('ada', 'triage', 'task_b'))).to.equal(ID);
  });

  it('is refused to another owner, in another process, and without a valid HMAC', async () => {
    const own = await marked();
    const ofOtherPlane = claimsOf('ada', 'triage', 'task_a', 'https://b.example');
    for (const other of [claimsOf('bob', 'triage'), claimsOf('ada', 'other'), claimsOf('ada'), ofOtherPlane]) {
      expect(idOf(own, other)).to.equal(undefined);
      expect(idOf(await marked(other), other)).to.equal(ID);
      expect(idOf(await marked(other), ada)).to.equal(undefined);
    }
    expect(idOf(await marked(ada, sessionOwnership()), ada)).to.equal(undefined);
    for (const presented of ['', '.', ID, `${ID}.`, `${own}x`, `x${own}`, own.slice(0, -1)]) {
      expect(idOf(presented, ada), presented).to.equal(undefined);
    }
  });

  it('keeps whether its client opens URLs, which another client cannot add', async () => {
    const write = (response: http.ServerResponse) => response.writeHead(200, { 'mcp-session-id': ID });
    const [opening, other] = [
      await given(write, ada, sessions, undefined, true),
      await given(write, ada, sessions, undefined, false),
    ];
    expect(sessions.find(opening, ada)).to.deep.equal({ id: ID, opensUrls: true });
    expect(sessions.find(other, ada)).to.deep.equal({ id: ID, opensUrls: false });
    expect(opening.length).to.equal(other.length);
    expect(sessions.find(opening, claimsOf('bob', 'triage'))).to.equal(undefined);
  });

  for (const [how, write] of [
    ['before writeHead', (response) => response.setHeader('Mcp-Session-Id', ID).writeHead(200)],
    ['by an object', (response) => response.writeHead(200, { 'MCP-Session-Id': ID })],
    ['by an object after a status message', (response) => response.writeHead(200, 'OK', { 'mcp-session-id': ID })],
    ['by a list', (response) => response.writeHead(200, ['x', 'y', 'mcp-session-id', ID] as never)],
  ] satisfies [string, (response: http.ServerResponse) => void][]) {
    it(`has its HMAC in an answer whose header is set ${how}`, async () => {
      expect(idOf(await given(write), ada)).to.equal(ID);
      expect(await given(write, ada, sessions, () => false), 'of another session').to.equal('');
    });
  }

  it('reaches the SDK without its HMAC in every place of a request', async () => {
    const request = new http.IncomingMessage(null as never);
    const presented = await marked();
    request.headers['mcp-session-id'] = presented;
    request.rawHeaders = ['Host', 'x', 'Mcp-Session-Id', presented, 'Accept', '*/*'];
    expect(presentedSession(request)).to.equal(presented);
    replaceSession(request, ID);
    expect(request.headers['mcp-session-id']).to.equal(ID);
    expect(request.rawHeaders).to.deep.equal(['Host', 'x', 'Mcp-Session-Id', ID, 'Accept', '*/*']);
    expect(presentedSession(new http.IncomingMessage(null as never))).to.equal(undefined);
  });
});
