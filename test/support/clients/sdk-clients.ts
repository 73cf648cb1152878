/** The clients of both MCP SDKs, unmodified, as one: a host connects them, and a person signs in where they ask for it. */

import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { SdkHost } from './sdk-host.ts';

/** A person: opens the address, and answers. @returns the query of the answer at the redirect address */
export type AskPerson = (address: URL) => Promise<URLSearchParams>;

export interface SdkClient {
  /** The text of the tool's answer. Where the client needs the person, it asks, and then sends the call again. */
  call(tool: string): Promise<string>;
  /** Sends the call once. @throws what the client throws, also if it needs the person */
  callOnce(tool: string): Promise<string>;
  close(): Promise<void>;
}

interface Connection {
  call(tool: string): Promise<unknown>;
  finish(answer: URLSearchParams): Promise<void>;
  close(): Promise<void>;
}

export interface Sdk {
  readonly name: string;
  /** Whether it asks the person for more scopes after a 403. Otherwise it refreshes, and gives up. */
  readonly stepsUp: boolean;
  connect(endpoint: string, host: SdkHost, ask: AskPerson): Promise<SdkClient>;
}

/** Both SDKs throw it after they have opened an address in the browser. */
const needsPerson = (error: unknown): boolean =>
  error instanceof Error && error.constructor.name === 'UnauthorizedError';

async function asking<Result>(
  host: SdkHost,
  ask: AskPerson,
  finish: (answer: URLSearchParams) => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const address = host.opened.at(-1);
    if (!needsPerson(error) || address === undefined) throw error;
    await finish(await ask(address));
    return work();
  }
}

/** @param open makes a new connection */
function sdk(
  name: string,
  stepsUp: boolean,
  open: (endpoint: URL, host: SdkHost) => { connect(): Promise<Connection>; finish: Connection['finish'] },
): Sdk {
  return {
    name,
    stepsUp,
    async connect(endpoint, host, ask) {
      const first = open(new URL(endpoint), host);
      let made = first;
      // A transport starts only once: the host makes another one after the sign-in.
      const connected = await asking(host, ask, first.finish, async () => {
        const result = await made.connect().catch((error: unknown) => {
          made = open(new URL(endpoint), host);
          throw error;
        });
        return result;
      });
      const callOnce = async (tool: string) => textOf(await connected.call(tool));
      return {
        callOnce,
        call: (tool) => asking(host, ask, connected.finish, () => callOnce(tool)),
        close: connected.close,
      };
    },
  };
}

function textOf(result: unknown): string {
  const { content } = result as { readonly content: readonly { readonly text?: string }[] };
  return content.map(({ text }) => text ?? '').join('');
}

const INFO = { name: 'triage', version: '1.0.0' };

const sdk1 = sdk('the client of SDK 1', false, (endpoint, host) => {
  // The types of the two SDKs differ in members that are optional here, and those of SDK 1 do not support
  // exactOptionalPropertyTypes.
  type Options = ConstructorParameters<typeof Transport1>[1];
  const transport = new Transport1(endpoint, { authProvider: host } as unknown as Options);
  const client = new Client1(INFO);
  // SDK 1 does not check `iss`, nor `state`: that is the host's part (RFC 9207 §2.4, RFC 6749 §10.12).
  const finish = (answer: URLSearchParams) => transport.finishAuth(codeOf(answer));
  return {
    finish,
    async connect() {
      await client.connect(transport as unknown as Parameters<Client1['connect']>[0]);
      return { finish, call: (name) => client.callTool({ name, arguments: {} }), close: () => client.close() };
    },
  };
});

const sdk2 = sdk('the client of SDK 2', true, (endpoint, host) => {
  const transport = new Transport2(endpoint, { authProvider: host });
  const client = new Client2(INFO, { versionNegotiation: { mode: 'auto' } });
  const finish = (answer: URLSearchParams) => transport.finishAuth(answer);
  return {
    finish,
    async connect() {
      await client.connect(transport);
      return { finish, call: (name) => client.callTool({ name, arguments: {} }), close: () => client.close() };
    },
  };
});

export const sdks: readonly Sdk[] = [sdk1, sdk2];

function codeOf(answer: URLSearchParams): string {
  const code = answer.get('code');
  if (code === null)
    throw new Error(`The answer has no code: ${answer.get('error')} ${answer.get('error_description')}`);
  return code;
}
