/** Which tokens `mcpAuthorization` gets, for which servers, and when it ends their tasks. */

import { expect } from 'chai';
import { Refused, TaskOver } from '../../../../../adapters/sdk/agent/agent.ts';
import { type McpAuthorizationOptions, mcpAuthorization } from '../../../../../adapters/sdk/agent/mcp/mcp.ts';
import { freePort } from '../../../../../scripts/free-port.ts';
import { authorizingForSuite, SDKS } from '../../../../support/agents/mcp-clients.ts';
import { startGuardedMcp } from '../../../../support/tool-server/guarded-mcp.ts';

describe('mcpAuthorization', () => {
  const authorizing = authorizingForSuite();
  const {
    closing,
    toolServerFor,
    agentWith,
    personsToken,
    providing,
    recording,
    connected,
    failed,
    tokenRequests,
    asked,
    records,
  } = authorizing;

  const [[, connect]] = SDKS;

  it('requests the scopes that the server names, if the program gave none', async () => {
    const provider = mcpAuthorization({ agent: authorizing.agent, subjectToken: async () => personsToken() });
    closing.push(() => provider.end());
    await connected(connect, provider);
    expect(asked()).to.deep.equal(['jira:comment jira:read']);
    expect(provider.task?.scope).to.have.members(['jira:comment', 'jira:read']);
  });

  it('states the purpose at each exchange', async () => {
    const client = await connected(connect, providing({ purpose: 'Answer the issues' }));
    await client.call('comment');
    expect(
      tokenRequests().map(({ text }) => new URLSearchParams(text.split('\n').at(-1)).get('purpose')),
    ).to.deep.equal(['Answer the issues', 'Answer the issues']);
  });

  it('gets the current token of the person from the program for each exchange', async () => {
    const given: string[] = [];
    const provider = providing({
      subjectToken: async () => {
        given.push(personsToken());
        return given.at(-1) ?? '';
      },
    });
    const client = await connected(connect, provider);
    await client.call('comment');
    expect(given).to.have.lengthOf(2);
  });

  it('makes another exchange with a new token of the person after a refusal', async () => {
    const given = ['stolen', personsToken()];
    const provider = providing({ subjectToken: () => given.shift() ?? '' });
    expect(await failed(connected(connect, provider))).to.be.instanceOf(Refused);
    const client = await connected(connect, provider);
    expect(JSON.parse(await client.call('read_issue')).sub).to.equal('ada');
    expect(tokenRequests()).to.have.lengthOf(2);
  });

  for (const given of [undefined, '', ' ', 'Bearer a.b.c']) {
    it(`sends no token request if the program returns ${JSON.stringify(given)} as the token of the person`, async () => {
      const provider = providing({ subjectToken: async () => given as string });
      expect(await failed(connected(connect, provider)))
        .to.be.instanceOf(TypeError)
        .with.property('message', 'mcpAuthorization: subjectToken must return an access token: a text without spaces.');
      expect(tokenRequests()).to.have.lengthOf(0);
    });
  }

  it('gets more scopes for two concurrent calls that need them', async () => {
    const provider = providing();
    const client = await connected(connect, provider);
    const answers = await Promise.all([client.call('comment'), client.call('comment')]);
    for (const answer of answers) expect(JSON.parse(answer).scope).to.deep.equal(['jira:read', 'jira:comment']);
  });

  it('asks for more scopes in the new task if a concurrent call replaced the task during a renewal', async () => {
    let meanwhile: (() => Promise<void>) | undefined;
    const delayed = agentWith(async (input, init) => {
      if (new URLSearchParams(String(init?.body)).get('grant_type') === 'refresh_token') await meanwhile?.();
      return fetch(input, init);
    });
    const provider = providing({ agent: delayed });
    await connected(connect, provider);
    const [{ answer } = { answer: '' }] = tokenRequests();
    const first = provider.task;
    // Until now the concurrent call has only requested it.
    await provider.prepareTokenRequest('jira:comment');
    const { body } = await authorizing.registered.exchange({
      subject_token: personsToken(),
      resource: authorizing.resource,
      scope: 'jira:read jira:comment',
    });
    meanwhile = async () => {
      meanwhile = undefined;
      await provider.saveTokens({ ...JSON.parse(answer), ...body });
    };
    const form = await provider.prepareTokenRequest('jira:comment');
    expect(form?.get('scope')).to.equal('jira:read jira:comment');
    expect(provider.task?.id).to.equal(body.task_id).and.not.to.equal(first?.id);
  });

  it('ends a task whose exchange was under way when end() was called', async () => {
    const provider = providing({
      subjectToken: async () => {
        await provider.end();
        return personsToken();
      },
    });
    expect(await failed(connected(connect, provider))).to.be.instanceOf(TaskOver);
    expect(await records('token.issued')).to.have.lengthOf(1);
    expect(await records('task.revoked')).to.have.lengthOf(1);
  });

  it('ends its task on end(), and returns no token afterwards', async () => {
    const provider = providing();
    const client = await connected(connect, provider);
    await provider.end();
    expect((await records('task.revoked')).map((line) => line.task_id)).to.deep.equal([provider.task?.id]);
    expect(await failed(client.call('read_issue')))
      .to.be.instanceOf(TaskOver)
      .and.to.have.property('reason', 'ended');
    const unused = providing();
    await unused.end();
    expect(await failed(connected(connect, unused))).to.be.instanceOf(TaskOver);
    expect(tokenRequests()).to.have.lengthOf(1);
  });

  describe('sends no token request for a server', () => {
    const cases: readonly (readonly [
      string,
      RegExp,
      (port: number) => Partial<Record<'audience' | 'issuer', string>>,
      Partial<McpAuthorizationOptions>?,
    ])[] = [
      ['that names another control plane', /does not name this control plane/, () => ({ issuer: 'https://m.example' })],
      ['that lies outside its resource', /not within its resource/, () => ({ audience: 'https://wiki.example/mcp' })],
      ['with a similar path', /not within its resource/, (port) => ({ audience: `http://127.0.0.1:${port}/mc` })],
      ['that names another resource', /names another resource/, () => ({}), { resource: 'https://a.example' }],
      [
        'at another origin than the program listed',
        /not within its resource/,
        () => ({ audience: 'https://wiki.example/mcp' }),
        { resource: 'https://wiki.example/mcp', origins: ['https://wiki.example'] },
      ],
    ];
    for (const [what, message, changes, options] of cases) {
      it(what, async () => {
        const port = await freePort();
        const { audience = `http://127.0.0.1:${port}/mcp`, issuer } = changes(port);
        const server = await startGuardedMcp(toolServerFor(audience, issuer), { port });
        closing.push(() => server.stop());
        const served = new URL(server.metadataUrl);
        // Sends requests for the audience's host to this machine.
        const here: typeof globalThis.fetch = (input, init) =>
          recording(String(input).replace(served.origin, server.url), init);
        const error = await failed(connect(server.endpoint, providing(options), here));
        expect(error.message).to.match(message);
        expect(tokenRequests()).to.deep.equal([]);
      });
    }

    it('without metadata', async () => {
      const provider = providing();
      const hidden: typeof globalThis.fetch = (input, init) =>
        String(input).includes('.well-known')
          ? Promise.resolve(new Response('', { status: 404 }))
          : recording(input, init);
      const error = await failed(connect(authorizing.jira.endpoint, provider, hidden));
      expect(error.message).to.match(/no protected-resource metadata/);
      expect(tokenRequests()).to.deep.equal([]);
    });

    it('other than the first one that it was used with', async () => {
      const provider = providing();
      await connected(connect, provider);
      const metadata = { resource: authorizing.resource, authorization_servers: [authorizing.mandate.issuer] };
      const { discoveryState, saveDiscoveryState } = provider;
      await saveDiscoveryState?.({ ...(await discoveryState?.()), resourceMetadata: metadata } as never);
      const other = await failed(
        Promise.resolve(provider.validateResourceURL(`${authorizing.resource}/other`, authorizing.resource)),
      );
      expect(other.message).to.match(/belongs to another server/);
    });
  });

  it('gets a token for a server at another origin than its resource, if the program lists the origin', async () => {
    const port = await freePort();
    const audience = 'https://wiki.example';
    const server = await startGuardedMcp(toolServerFor(audience), { port });
    closing.push(() => server.stop());
    const provider = providing({ resource: audience, origins: [server.url] });
    const here: typeof globalThis.fetch = (input, init) =>
      recording(String(input).replace('https://wiki.example', server.url), init);
    const client = await connect(server.endpoint, provider, here);
    closing.push(() => client.close());
    expect(JSON.parse(await client.call('read_issue')).sub).to.equal('ada');
    expect(provider.task?.resource).to.equal(audience);
  });

  it('refuses to add tokens to a request for another address than the token endpoint', async () => {
    const provider = providing();
    await connected(connect, provider);
    const form = new URLSearchParams({ scope: 'jira:read' });
    const adding = provider.addClientAuthentication(new Headers(), form, new URL(authorizing.jira.endpoint));
    expect((await failed(Promise.resolve(adding))).message).to.match(/elsewhere/);
    expect([...form]).to.deep.equal([['scope', 'jira:read']]);
  });

  it('refuses an answer with a scope that it did not request', async () => {
    const provider = providing();
    const client = await connected(connect, provider);
    const { answer } = tokenRequests()[0] ?? { answer: '{}' };
    const wider = { ...JSON.parse(answer), scope: 'jira:read jira:admin' };
    const error = await failed(Promise.resolve(provider.saveTokens(wider)));
    expect(error).to.be.instanceOf(Refused).and.to.have.property('reason', 'scope_wider_than_asked');
    expect(JSON.parse(await client.call('read_issue')).scope).to.deep.equal(['jira:read']);
  });

  it('fails at once for an invalid option', () => {
    const subjectToken = 'x';
    expect(() => mcpAuthorization({ agent: { ...authorizing.agent }, subjectToken })).to.throw(
      TypeError,
      /createAgent/,
    );
    expect(() => mcpAuthorization({ agent: authorizing.agent, subjectToken, resource: 'jira' })).to.throw(
      TypeError,
      /resource/,
    );
    expect(() => mcpAuthorization({ agent: authorizing.agent, subjectToken, scope: [] })).to.throw(TypeError, /scope/);
    expect(() => mcpAuthorization({ agent: authorizing.agent, subjectToken: undefined as never })).to.throw(
      TypeError,
      /subjectToken/,
    );
    expect(() => mcpAuthorization({ agent: authorizing.agent, subjectToken, origins: ['https://a.example'] })).to.throw(
      TypeError,
      'resource must be given with origins',
    );
    for (const origin of ['a.example', 'data:,', 'file:///a']) {
      expect(() =>
        mcpAuthorization({ agent: authorizing.agent, subjectToken, resource: authorizing.resource, origins: [origin] }),
      ).to.throw(TypeError, 'origins[0] must be an http or https URL');
    }
  });
});
