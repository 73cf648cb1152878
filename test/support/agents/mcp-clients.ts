/** `mcpAuthorization` in the MCP clients of the SDKs, with the real service and a guarded MCP server. */

import {
  Client,
  type OAuthClientProvider,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import {
  StreamableHTTPError,
  StreamableHTTPClientTransport as Transport1,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Agent, createAgent } from '../../../adapters/sdk/agent/agent.ts';
import {
  type McpAuthorization,
  type McpAuthorizationOptions,
  mcpAuthorization,
} from '../../../adapters/sdk/agent/mcp/mcp.ts';
import { type AccessEvent, createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { databases } from '../databases.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../mandate.ts';
import { type GuardedMcp, startGuardedMcp } from '../tool-server/guarded-mcp.ts';

interface Sent {
  readonly url: string;
  readonly text: string;
  readonly answer: string;
}

export interface Connected {
  call(name: string): Promise<string>;
  close(): Promise<void>;
}

export type Connect = (
  url: string,
  authProvider: OAuthClientProvider,
  fetch: typeof globalThis.fetch,
) => Promise<Connected>;

const textIn = ({ content }: Readonly<Record<string, unknown>>): string =>
  (content as readonly { readonly text?: string }[]).map(({ text }) => text ?? '').join('');

const sdk2 =
  (mode: 'auto' | 'legacy'): Connect =>
  async (url, authProvider, fetch) => {
    const client = new Client({ name: 'triage', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider, fetch }));
    return { call: async (name) => textIn(await client.callTool({ name })), close: () => client.close() };
  };

const sdk1: Connect = async (url, authProvider, fetch) => {
  const client = new Client1({ name: 'triage', version: '1.0.0' });
  // The types of the two SDKs differ in members that are optional here.
  const options = { authProvider, fetch } as unknown as ConstructorParameters<typeof Transport1>[1];
  // The types of SDK 1 do not support exactOptionalPropertyTypes.
  await client.connect(new Transport1(new URL(url), options) as unknown as Parameters<Client1['connect']>[0]);
  return { call: async (name) => textIn(await client.callTool({ name })), close: () => client.close() };
};

export const SDKS: readonly [readonly [string, Connect], ...(readonly [string, Connect])[]] = [
  ['SDK 2', sdk2('auto')],
  ['SDK 2 with a handshake', sdk2('legacy')],
  ['SDK 1', sdk1],
];

interface Authorizing {
  mandate: Mandate;
  registered: RegisteredAgent;
  agent: Agent;
  jira: GuardedMcp;
  resource: string;
  events: AccessEvent[];
  sent: Sent[];
}

export function authorizingForSuite() {
  const authorizing = {} as Authorizing;
  const closing: (() => Promise<unknown>)[] = [];

  const [database] = databases;
  before(async () => {
    if (database === undefined) throw new Error('there is no database');
    authorizing.mandate = await startMandate({ database, issuer: 'own-address' });
    const port = await freePort();
    authorizing.resource = `http://127.0.0.1:${port}/mcp`;
    authorizing.jira = await startGuardedMcp(toolServerFor(authorizing.resource), { port });
  });
  beforeEach(async () => {
    authorizing.events = [];
    authorizing.sent = [];
    authorizing.registered = await authorizing.mandate.agent({
      allowed_audiences: [authorizing.resource, 'https://wiki.example'],
      high_risk_audiences: [],
    });
    authorizing.agent = agentWith(fetch);
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close().catch(() => undefined);
  });
  after(async () => {
    await authorizing.jira.stop();
    await authorizing.mandate.stop();
  });

  function toolServerFor(audience: string, issuer = authorizing.mandate.issuer) {
    return createToolServer({
      issuer,
      audience,
      now: () => authorizing.mandate.clock.now() / 1000,
      onAccess: (event) => void authorizing.events.push(event),
      onError: () => undefined,
    });
  }
  const personsToken = (scope = 'jira:read jira:comment') =>
    authorizing.mandate.provider.mintAccessToken({ scope, exp: authorizing.mandate.clock.seconds() + 7200 });
  /** The registered agent, with another `fetch`. */
  const agentWith = (send: typeof globalThis.fetch) =>
    createAgent({
      issuer: authorizing.mandate.issuer,
      agentId: authorizing.registered.id,
      key: { jwk: { ...authorizing.registered.key.privateJwk } },
      clock: { now: () => authorizing.mandate.clock.seconds() * 1000, sleep: () => Promise.resolve(), random: () => 0 },
      fetch: send,
    });
  function providing(options: Partial<McpAuthorizationOptions> = {}): McpAuthorization {
    const provider = mcpAuthorization({
      agent: authorizing.agent,
      subjectToken: personsToken(),
      scope: ['jira:read'],
      ...options,
    });
    closing.push(() => provider.end());
    return provider;
  }
  /** Sends the client's requests, and records them in `sent`. */
  const recordingOf =
    (send: typeof globalThis.fetch): typeof globalThis.fetch =>
    async (input, init) => {
      const answer = await send(input, init);
      const text = `${[...new Headers(init?.headers)].join('\n')}\n${String(init?.body ?? '')}`;
      const isToken = String(input).endsWith('/oauth2/token');
      authorizing.sent.push({ url: String(input), text, answer: isToken ? await answer.clone().text() : '' });
      return answer;
    };
  const recording = recordingOf(fetch);
  /** @param send by default that of the provider, as the documentation says */
  async function connected(connect: Connect, provider: McpAuthorization, send = provider.fetch): Promise<Connected> {
    const client = await connect(authorizing.jira.endpoint, provider, recordingOf(send));
    closing.push(() => client.close());
    return client;
  }
  /** The status that a client's error has. */
  const statusIn = (error: Error) => {
    if (error instanceof SdkHttpError) return error.status;
    return error instanceof StreamableHTTPError ? error.code : error;
  };
  const failed = (act: Promise<unknown>) =>
    act.then(
      () => new Error('it succeeded'),
      (error: Error) => error,
    );
  const tokenRequests = () =>
    authorizing.sent.filter(({ url }) => url === `${authorizing.mandate.issuer}/oauth2/token`);
  const asked = () => tokenRequests().map(({ text }) => new URLSearchParams(text.split('\n').at(-1)).get('scope'));
  const records = async (event: string) =>
    (await authorizing.mandate.ledger()).filter(
      (line) => line.agent_id === authorizing.registered.id && line.event === event,
    );

  return Object.assign(authorizing, {
    closing,
    toolServerFor,
    agentWith,
    personsToken,
    providing,
    recording,
    recordingOf,
    connected,
    statusIn,
    failed,
    tokenRequests,
    asked,
    records,
  });
}
