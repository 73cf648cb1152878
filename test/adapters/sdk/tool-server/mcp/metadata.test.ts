/** Resource metadata, and the scopes that a challenge names. */

import { expect } from 'chai';

import { call, guardedForEachTest, rpc, type Sent } from '../../../../support/tool-server/guarded-messages.ts';

describe('The guard of an MCP server', () => {
  const guarded = guardedForEachTest();
  const { fixture, events, start, send, decided } = guarded;

  describe('names the needed scopes in the 401 to a request without a token,', () => {
    const METADATA = 'resource_metadata="https://jira.example/.well-known/oauth-protected-resource/api"';
    const tools = { comment: { scope: ['jira:read', 'jira:comment'] }, 'lire un problème': { scope: ['jira:read'] } };
    const methods = { 'resources/read': { scope: ['jira:boards'] } };
    const challenge = async (sent: Sent) => {
      const answer = await send({ headers: { authorization: '' }, ...sent });
      expect([answer.status, JSON.parse(answer.text).reason]).to.deep.equal([401, 'missing_token']);
      // Without a token an event names no tool: a stranger could write any name into the log.
      expect(decided().at(-1)).to.deep.equal([null, 'deny', 'missing_token', null]);
      return answer.headers.get('www-authenticate')?.replace('Bearer realm="https://jira.example/api", ', '');
    };
    const naming = (method: string, name?: string) => ({
      headers: { authorization: '', 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) },
      body: rpc('ping'),
    });

    for (const [where, parsed] of [
      ['if the body was not read', false],
      ['and never to the body, also if a body parser has read it', true],
    ] as const) {
      it(`according to the headers, ${where}`, async () => {
        await start({ tools, methods, parsed });
        const encoded = `=?base64?${Buffer.from('lire un problème').toString('base64')}?=`;
        for (const [sent, scope] of [
          [naming('tools/call', 'comment'), 'scope="jira:read jira:comment", '],
          [naming('tools/call', encoded), 'scope="jira:read", '],
          [naming('resources/read', 'jira://boards/1'), 'scope="jira:boards", '],
          [naming('tools/call', 'no_such_tool'), ''],
          [naming('tools/call', '=?base64?***?='), ''],
          [naming('tools/call'), ''],
          [naming('tools/list'), ''],
          [{ body: call('comment') }, ''],
          [{ body: [call('comment')] }, ''],
          [{ method: 'GET' }, ''],
        ] as const) {
          expect(await challenge(sent)).to.equal(`${scope}${METADATA}`);
        }
      });
    }
  });

  describe('publishes the metadata', () => {
    const AT_ROOT = '/.well-known/oauth-protected-resource';

    for (const [audience, path] of [
      ['https://jira.example/api', `${AT_ROOT}/api`],
      ['https://jira.example', AT_ROOT],
      ['https://jira.example/', AT_ROOT],
      ['https://jira.example:8443/a/b/?tenant=7', `${AT_ROOT}/a/b/?tenant=7`],
    ] as const) {
      it(`of ${audience} at ${path}, without a token`, async () => {
        await start({}, { audience });
        expect(guarded.app.metadataUrl).to.equal(`${new URL(audience).origin}${path}`);
        const answer = await fetch(`${guarded.app.url}${path}`);
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.equal('application/json');
        expect(answer.headers.get('access-control-allow-origin')).to.equal('*');
        expect(await answer.json()).to.deep.equal({
          resource: audience,
          authorization_servers: [fixture.plane.issuer],
          scopes_supported: ['jira:comment', 'jira:read'],
          bearer_methods_supported: ['header'],
        });
        expect(events).to.deep.equal([]);
      });
    }

    it('only by GET and at this address, also to scripts of other origins', async () => {
      await start();
      const at = `${guarded.app.url}${AT_ROOT}/api`;
      const asked = await fetch(at, { method: 'OPTIONS' });
      expect([asked.status, asked.headers.get('access-control-allow-methods')]).to.deep.equal([204, 'GET']);
      expect(await (await fetch(at, { method: 'HEAD' })).text()).to.equal('');
      expect((await fetch(at, { method: 'POST' })).status).to.equal(405);
      for (const other of [`${guarded.app.url}${AT_ROOT}`, `${at}/more`, `${at}?x=1`]) {
        expect((await fetch(other)).status).to.equal(404);
      }
    });
  });
});
