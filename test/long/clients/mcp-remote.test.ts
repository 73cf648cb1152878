/** `mcp-remote`, unmodified, in Chromium: it registers itself, or is known by the id of an agent or by a document. */

import { expect } from 'chai';
import { closeBrowser } from '../../support/browser.ts';
import { serveDocument } from '../../support/clients/document.ts';
import { type Door, oidcProvider } from '../../support/clients/doors.ts';
import { type McpRemote, mcpRemote, remoteFolder } from '../../support/clients/mcp-remote.ts';
import { type PersonInBrowser, personInBrowser } from '../../support/clients/person.ts';
import { endTasks, registerProgram } from '../../support/clients/program.ts';
import { protections, startProtectedMcp } from '../../support/clients/protected-mcp.ts';
import { fieldsOf } from '../../support/mandate.ts';

/** As mcp-remote listens, on any port. */
const REDIRECT = 'http://localhost/oauth/callback';
/** It renews a token a minute before its end. */
const TOKEN_TTL = 'PT4M';
const UNTIL_EXPIRY_SECONDS = 241;

describe('mcp-remote', function () {
  this.timeout(240_000);
  let door: Door;
  let person: PersonInBrowser;
  before(async () => {
    door = await oidcProvider.start();
    person = await personInBrowser(door);
  });
  after(async () => {
    await person.close();
    await closeBrowser();
    await door.stop();
  });

  const ways = [
    { how: 'registers itself', client_names: ['MCP CLI Proxy'] },
    { how: 'is known by the id of an agent' },
    { how: 'is known by its document' },
  ] as const;

  for (const [nth, { how, ...names }] of ways.entries()) {
    const by = protections[nth % 2] ?? 'the guard';
    it(`${how}, walks in at ${by}, and sees more scopes, a renewal and an end`, async () => {
      const { mandate } = door;
      const server = await startProtectedMcp(mandate, by);
      const document = how === 'is known by its document' ? await serveDocument([REDIRECT]) : undefined;
      const agent = await registerProgram(mandate, server.endpoint, {
        max_token_ttl: TOKEN_TTL,
        ...(document ? { client_id_document: document.address, public_client: false } : { redirect_uris: [REDIRECT] }),
        ...names,
      });
      const options = {
        'registers itself': [],
        'is known by the id of an agent': ['--static-oauth-client-info', JSON.stringify({ client_id: agent.id })],
        'is known by its document': ['--client-metadata-url', document?.address ?? ''],
      }[how];
      const folder = remoteFolder();
      const remote = mcpRemote(server.endpoint, folder.path, options);
      let again: McpRemote | undefined;
      try {
        // 1. The person starts the task, and takes a scope away.
        const started = await mandate.recorded(async () => {
          const connected = remote.connect();
          await person.answer(await remote.untilOpened(0), { without: ['jira:comment'] });
          await connected;
        });
        expect(person.page.url()).to.match(/^http:\/\/localhost:\d+\/oauth\/callback\?/);
        expect(fieldsOf(started, 'event', 'agent_id', 'scope')).to.deep.equal([
          ['authorization.allowed', agent.id, 'jira:read'],
          ['token.issued', agent.id, 'jira:read'],
          ['task.authorized', agent.id, 'jira:read'],
        ]);
        const first = JSON.parse(await remote.call('read_issue'));
        expect(first).to.deep.include({ agent: `agent:${agent.id}`, scope: ['jira:read'] });

        // 2. A tool needs the scope that is missing: it asks the person, and sends the call again.
        const [more] = await Promise.all([
          remote.call('comment'),
          remote.untilOpened(1).then((address) => person.answer(address)),
        ]);
        expect(JSON.parse(more).scope).to.have.members(['jira:read', 'jira:comment']);

        // 3. The token expires, and is renewed without the person.
        mandate.clock.advance(UNTIL_EXPIRY_SECONDS);
        const renewed = await mandate.recorded(async () => {
          expect(JSON.parse(await remote.call('read_issue')).task).to.equal(JSON.parse(more).task);
        });
        expect(fieldsOf(renewed, 'event', 'task_id')).to.deep.equal([['token.refreshed', JSON.parse(more).task]]);
        expect(remote.opened()).to.have.lengthOf(2);

        // 4. An operator ends the task: it asks the person again.
        await endTasks(mandate, agent);
        const refused = await mandate.recorded(async () => {
          const [after] = await Promise.all([
            remote.call('delete_issue'),
            remote.untilOpened(2).then((address) => person.answer(address)),
          ]);
          expect(JSON.parse(after).task).not.to.equal(JSON.parse(more).task);
        });
        expect(fieldsOf(refused, 'event', 'reason')[0]).to.deep.equal(['token.denied', 'task_revoked']);

        // 5. Another process of it has the tokens of the one before.
        await remote.close();
        again = mcpRemote(server.endpoint, folder.path, options);
        await again.connect();
        expect(JSON.parse(await again.call('read_issue')).agent).to.equal(`agent:${agent.id}`);
        expect(again.opened()).to.have.lengthOf(0);
      } finally {
        await remote.close();
        await again?.close();
        await document?.close();
        await server.stop();
        folder.remove();
      }
    });
  }

  it('tells the person who refuses, and does not ask again by itself', async () => {
    const { mandate } = door;
    const server = await startProtectedMcp(mandate);
    const agent = await registerProgram(mandate, server.endpoint, { redirect_uris: [REDIRECT] });
    const folder = remoteFolder();
    const options = ['--static-oauth-client-info', JSON.stringify({ client_id: agent.id })];
    const remote = mcpRemote(server.endpoint, folder.path, options);
    const connected = remote.connect().then(
      () => 'connected',
      () => 'refused',
    );
    const records = await mandate.recorded(async () => {
      await person.answer(await remote.untilOpened(0), { answer: 'Refuse' });
    });
    expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([
      ['authorization.refused', 'deny', 'consent_refused'],
    ]);
    expect(await person.page.locator('body').textContent()).to.include('Authorization failed');
    expect(await connected).to.equal('refused');
    expect(remote.said()).to.include('access_denied');
    expect(remote.opened()).to.have.lengthOf(1);
    await remote.close();
    await server.stop();
    folder.remove();
  });
});
