/** `mcpAuthorization` in the official MCP client of SDK 2 and SDK 1, with the real service and a guarded MCP server. */

import { expect } from 'chai';
import { createAgent, Refused, TaskOver } from '../../../../../adapters/sdk/agent/agent.ts';
import { authorizingForSuite, SDKS } from '../../../../support/agents/mcp-clients.ts';
import { FAULTY, FORGOTTEN, PICKY } from '../../../../support/tool-server/guarded-mcp.ts';

describe('mcpAuthorization', () => {
  const authorizing = authorizingForSuite();
  const { agentWith, personsToken, providing, connected, statusIn, failed, tokenRequests, asked, records } =
    authorizing;

  for (const [name, connect] of SDKS) {
    it(`never asks for scopes that no server named, in ${name} without its fetch, and says what is missing`, async () => {
      const provider = providing();
      const client = await connected(connect, provider, fetch);
      const first = provider.task;
      // SDK 1 does not pass on what the server named.
      for (const tool of name === 'SDK 1' ? [FORGOTTEN, 'comment'] : [FORGOTTEN]) {
        const error = await failed(client.call(tool));
        expect(error).to.be.instanceOf(Refused).and.include({ error: 'insufficient_scope', reason: 'no_scope_named' });
        expect(error.message).to.include('pass fetch: authProvider.fetch to the transport');
      }
      expect([provider.task, tokenRequests().length, await records('task.revoked')]).to.deep.equal([first, 1, []]);
      if (name === 'SDK 1') return;
      expect(JSON.parse(await client.call('comment')).scope).to.deep.equal(['jira:read', 'jira:comment']);
    });

    describe(`in ${name}`, () => {
      it('gets a token after a 401 and more scopes after a 403, for this server alone', async () => {
        const subjectToken = personsToken();
        const provider = providing({ subjectToken });
        const client = await connected(connect, provider);
        const read = JSON.parse(await client.call('read_issue'));
        const first = provider.task;
        expect(read).to.deep.equal({
          sub: 'ada',
          agent: `agent:${authorizing.registered.id}`,
          scope: ['jira:read'],
          task: first?.id,
        });

        const commented = JSON.parse(await client.call('comment'));
        expect([commented.scope, commented.task]).to.deep.equal([['jira:read', 'jira:comment'], provider.task?.id]);
        expect(asked()).to.deep.equal(['jira:read', 'jira:read jira:comment']);
        // The provider has ended the task with fewer scopes, because the new task replaces it.
        expect((await records('task.revoked')).map((line) => line.task_id)).to.deep.equal([first?.id]);

        const grants = tokenRequests().map(({ answer }) => String(JSON.parse(answer).refresh_token));
        expect(grants).to.have.lengthOf(2);
        const toServer = JSON.stringify(
          authorizing.sent.filter(({ url }) => !url.startsWith(authorizing.mandate.issuer)),
        );
        for (const secret of [subjectToken, ...grants, 'actor_token']) expect(toServer).not.to.include(secret);
        expect(new Set(authorizing.sent.map(({ url }) => url))).to.deep.equal(
          new Set([
            authorizing.jira.endpoint,
            authorizing.jira.metadataUrl,
            `${authorizing.mandate.issuer}/oauth2/token`,
          ]),
        );
      });

      it('renews the token with the grant of the task before the token expires', async () => {
        const provider = providing();
        const client = await connected(connect, provider);
        await client.call('read_issue');
        const before = authorizing.events.at(-1);
        authorizing.mandate.clock.advance(200);
        await client.call('read_issue');
        const after = authorizing.events.at(-1);
        expect([after?.decision, after?.task_id]).to.deep.equal(['allow', provider.task?.id]);
        expect(after?.task_id).to.equal(before?.task_id);
        expect(after?.jti).to.be.a('string').and.not.to.equal(before?.jti);
        expect(tokenRequests()).to.have.lengthOf(1);
      });

      it('gets no scope that the person does not have', async () => {
        const provider = providing({ subjectToken: personsToken('jira:read') });
        const client = await connected(connect, provider);
        authorizing.jira.called.length = 0;
        const first = provider.task;
        for (const exchanges of [2, 3]) {
          if (exchanges === 3) await client.call('read_issue');
          const error = await failed(client.call('comment'));
          expect(statusIn(error)).to.equal(403);
          expect(error.message).to.include('The token lacks a required scope. Missing: jira:comment.');
          expect(tokenRequests()).to.have.lengthOf(exchanges);
        }
        const again = await failed(client.call('comment'));
        expect(again.message).to.include('Missing: jira:comment.');
        // What waits for the person in the first task goes on waiting. Those that were no wider have ended.
        expect(provider.task).to.equal(first);
        const ended = (await records('task.revoked')).map((line) => line.task_id);
        expect(ended)
          .to.have.lengthOf(tokenRequests().length - 1)
          .and.not.include(first?.id);
        expect(provider.task?.scope).to.deep.equal(['jira:read']);
        expect(authorizing.jira.called).to.deep.equal(['read_issue']);
        expect(JSON.parse(await client.call('read_issue')).scope).to.deep.equal(['jira:read']);
      });

      it('asks for no scopes and ends no task when none would help, and throws the reason of the server', async () => {
        const provider = providing();
        const client = await connected(connect, provider);
        const first = provider.task;
        for (const _ of [1, 2]) {
          const error = await failed(client.call(FORGOTTEN));
          expect(statusIn(error)).to.equal(403);
          expect(error.message).to.include('No policy lets anybody use this tool.');
        }
        expect([provider.task, tokenRequests().length, await records('task.revoked')]).to.deep.equal([first, 1, []]);
        const events = authorizing.events.filter(({ route }) => route === FORGOTTEN);
        expect(events.map(({ reason }) => reason)).to.deep.equal(['unknown_tool', 'unknown_tool']);
        expect(JSON.parse(await client.call('comment')).scope).to.deep.equal(['jira:read', 'jira:comment']);
      });

      it('says in its error which status the server answered', async () => {
        const rejecting: typeof globalThis.fetch = (input, init) =>
          String(init?.body).includes('"read_issue"')
            ? Promise.resolve(new Response('', { status: 401 }))
            : fetch(input, init);
        const provider = providing({ agent: agentWith(rejecting) });
        const client = await connected(connect, provider);
        const first = provider.task;
        expect(await client.call(PICKY)).to.equal('The policy of the tool refuses these arguments.');
        for (const [tool, status] of [
          [FAULTY, 503],
          ['read_issue', 401],
        ] as const) {
          expect(statusIn(await failed(client.call(tool))), tool).to.equal(status);
        }
        expect(provider.task).to.equal(first);
        for (const tool of [PICKY, FAULTY]) expect(authorizing.jira.called).not.to.include(tool);
        expect(
          authorizing.events.filter(({ decision }) => decision === 'deny').map(({ reason }) => reason),
        ).to.include.members(['arguments_refused', 'policy_unavailable']);
      });

      it('starts no other task when its task was revoked', async () => {
        const provider = providing();
        const client = await connected(connect, provider);
        await authorizing.mandate.admin('DELETE', `/admin/tasks/${provider.task?.id}`);
        for (const tool of ['delete_issue', 'comment', 'read_issue']) {
          const error = await failed(client.call(tool));
          expect(error, error.message).to.be.instanceOf(TaskOver).and.to.have.property('reason', 'task_revoked');
        }
        expect(tokenRequests()).to.have.lengthOf(1);
      });

      it('throws the refusal of a wrong subject token to the program, after one request', async () => {
        const error = await failed(connected(connect, providing({ subjectToken: 'stolen' })));
        expect(error).to.be.instanceOf(Refused).and.to.have.property('error', 'invalid_grant');
        expect(tokenRequests()).to.have.lengthOf(1);
        expect(error.message).not.to.include('stolen');
        expect((await records('token.denied')).map(({ reason }) => reason)).to.deep.equal(['subject_malformed']);
      });

      it("throws invalid_client to the program when the control plane refuses the agent's key", async () => {
        const { key } = await authorizing.mandate.agent();
        const wrong = createAgent({
          issuer: authorizing.mandate.issuer,
          agentId: authorizing.registered.id,
          key: { jwk: { ...key.privateJwk } },
          clock: {
            now: () => authorizing.mandate.clock.seconds() * 1000,
            sleep: () => Promise.resolve(),
            random: () => 0,
          },
        });
        const error = await failed(connected(connect, providing({ agent: wrong })));
        expect(error).to.be.instanceOf(Refused).and.to.have.property('error', 'invalid_client');
        expect(tokenRequests()).to.have.lengthOf(1);
        // The record names no agent, because the signature of the assertion was not verified.
        expect((await authorizing.mandate.ledger()).map(({ reason }) => reason)).to.include('actor_unknown_key');
      });

      it('throws any other refusal of the exchange to the program, with the sentence of the control plane', async () => {
        const error = await failed(connected(connect, providing({ scope: ['jira:unheard-of'] })));
        expect(error.message).to.include('None of the requested scopes is held by both the person and the agent.');
        expect(tokenRequests()).to.have.lengthOf(1);
        expect((await records('token.denied')).map(({ reason }) => reason)).to.deep.equal(['scope_intersection_empty']);
      });
    });
  }
});
