/**
 * An MCP server that has what the scenarios of `@modelcontextprotocol/conformance` ask for, with the TypeScript SDK 1. It
 * keeps sessions and resumes streams, and refuses the host names of others, as a server on loopback must.
 */

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  type ElicitRequestFormParams,
  ElicitResultSchema,
  GetPromptRequestSchema,
  isInitializeRequest,
  type JSONRPCMessage,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  type PromptMessage,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { RequestHandler } from 'express';
import { closeServer, listen } from '../listening.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Content = CallToolResult['content'];
type Arguments = Readonly<Record<string, unknown>>;
type Run = (extra: Extra, given: Arguments) => Content | Promise<Content>;

/** Between two messages of a tool, so that they are not sent together. */
const STEP_MS = 50;
/** How long a client waits before it asks for the rest of a stream. */
const RETRY_MS = 200;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';
const words = (text: string) => ({ type: 'text' as const, text });
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' };
const resource = (uri: string, mimeType: string, text: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text },
});

const TOOLS: Readonly<Record<string, Run>> = {
  test_simple_text: () => [words('This is a simple text response for testing.')],
  test_image_content: () => [image],
  test_audio_content: () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  test_embedded_resource: () => [
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: () => [
    words('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
  async test_tool_with_logging({ sendNotification }) {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await sendNotification({ method: 'notifications/message', params: { level: 'info', data } });
      await pause(STEP_MS);
    }
    return [words('Logged.')];
  },
  test_error_handling() {
    throw new Error('This tool intentionally returns an error for testing');
  },
  async test_tool_with_progress({ sendNotification, _meta: { progressToken } = {} }) {
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 };
        await sendNotification({ method: 'notifications/progress', params });
      }
      await pause(STEP_MS);
    }
    return [words('Reported.')];
  },
  async test_sampling({ sendRequest }, { prompt }) {
    const messages = [{ role: 'user' as const, content: words(String(prompt)) }];
    const { content } = await sendRequest(
      { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } },
      CreateMessageResultSchema,
    );
    return [words(`LLM response: ${content.type === 'text' ? content.text : content.type}`)];
  },
  test_elicitation: (extra, { message }) =>
    elicited(extra, 'User response', String(message), {
      type: 'object',
      properties: {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      },
      required: ['username', 'email'],
    }),
  test_elicitation_sep1034_defaults: (extra) =>
    elicited(extra, 'Elicitation completed', 'Please accept.', {
      type: 'object',
      properties: {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      },
    }),
  test_elicitation_sep1330_enums: (extra) => elicited(extra, 'Elicitation completed', 'Please choose.', ENUMS),
  json_schema_2020_12_tool: () => [words('Called.')],
  async test_reconnection({ closeSSEStream }) {
    closeSSEStream?.();
    await pause(STEP_MS);
    return [words('Resumed.')];
  },
};

const titled = (values: readonly string[], titles: readonly string[]) =>
  values.map((value, at) => ({ const: value, title: titles[at] ?? value }));
const OPTIONS = ['option1', 'option2', 'option3'];
const VALUES = ['value1', 'value2', 'value3'];
const ENUMS: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: titled(VALUES, ['First Option', 'Second Option', 'Third Option']) },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: {
      type: 'array',
      items: { anyOf: titled(VALUES, ['First Choice', 'Second Choice', 'Third Choice']) },
    },
  },
};

async function elicited(
  { sendRequest }: Extra,
  what: string,
  message: string,
  requestedSchema: ElicitRequestFormParams['requestedSchema'],
): Promise<Content> {
  const { action, content } = await sendRequest(
    { method: 'elicitation/create', params: { message, requestedSchema } },
    ElicitResultSchema,
  );
  return [words(`${what}: action=${action}, content=${JSON.stringify(content)}`)];
}

const ADDRESS = { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } };
const SCHEMAS: Readonly<Record<string, object>> = {
  test_sampling: { properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  test_elicitation: { properties: { message: { type: 'string' } }, required: ['message'] },
  json_schema_2020_12_tool: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: { address: ADDRESS },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  },
};

type Messages = (given: Readonly<Record<string, string>>) => readonly PromptMessage['content'][];
const PROMPTS: Readonly<Record<string, readonly [names: readonly string[], messages: Messages]>> = {
  test_simple_prompt: [[], () => [words('This is a simple prompt for testing.')]],
  test_prompt_with_arguments: [
    ['arg1', 'arg2'],
    ({ arg1, arg2 }) => [words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  ],
  test_prompt_with_embedded_resource: [
    ['resourceUri'],
    ({ resourceUri = '' }) => [
      resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
      words('Please process the embedded resource above.'),
    ],
  ],
  test_prompt_with_image: [[], () => [image, words('Please analyze the image above.')]],
};

/** The names that the policies of a guard need. */
export const CONFORMANCE_TOOLS = Object.keys(TOOLS);
export const CONFORMANCE_METHODS = [
  ...['resources/list', 'resources/templates/list', 'resources/read', 'resources/subscribe', 'resources/unsubscribe'],
  ...['prompts/get', 'completion/complete'],
];

function makeServer(): Server {
  const capabilities = {
    tools: {},
    prompts: {},
    completions: {},
    logging: {},
    resources: { subscribe: true },
  };
  const server = new Server({ name: 'conformance', version: '1.0.0' }, { capabilities });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(TOOLS).map((name) => ({
      name,
      description: `What ${name} does`,
      inputSchema: { type: 'object' as const, properties: {}, ...SCHEMAS[name] },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given = {} } }, extra) => {
    try {
      return { content: (await TOOLS[name]?.(extra, given)) ?? [] };
    } catch (error) {
      return { isError: true, content: [words(error instanceof Error ? error.message : 'It failed.')] };
    }
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: ['test://static-text', 'test://static-binary', 'test://watched-resource'].map((uri) => ({
      uri,
      name: uri,
      description: `What ${uri} has`,
    })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const [, id] = /^test:\/\/template\/(.+)\/data$/.exec(uri) ?? [];
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    if (id !== undefined) return { contents: [{ uri, mimeType: 'application/json', text }] };
    if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] };
    const content = 'This is the content of the static text resource.';
    return { contents: [{ uri, mimeType: 'text/plain', text: content }] };
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.entries(PROMPTS).map(([name, [names]]) => ({
      name,
      description: `What ${name} is for`,
      arguments: names.map((name) => ({ name, required: true })),
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name, arguments: given = {} } }) => ({
    messages: (PROMPTS[name]?.[1](given) ?? []).map((content) => ({ role: 'user' as const, content })),
  }));
  server.setRequestHandler(CompleteRequestSchema, () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return server;
}

/** Keeps the events of streams, so that a client that was cut off gets the rest. */
function eventStore(): EventStore {
  const events: { readonly id: string; readonly stream: string; readonly message: JSONRPCMessage }[] = [];
  return {
    storeEvent(stream, message) {
      const id = `${stream}_${events.length}`;
      events.push({ id, stream, message });
      return Promise.resolve(id);
    },
    async replayEventsAfter(last, { send }) {
      const at = events.findIndex(({ id }) => id === last);
      const stream = events[at]?.stream ?? '';
      for (const event of events.slice(at + 1)) if (event.stream === stream) await send(event.id, event.message);
      return stream;
    },
  };
}

/** @param middleware runs before the server, for example the library's own adapter */
export async function startConformanceServer(middleware: readonly RequestHandler[] = []) {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const app = createMcpExpressApp();
  app.all('/mcp', ...middleware, async (request, response) => {
    let transport = transports.get(request.get('mcp-session-id') ?? '');
    if (transport === undefined && !isInitializeRequest(request.body)) {
      response.status(request.get('mcp-session-id') === undefined ? 400 : 404).end();
      return;
    }
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore: eventStore(),
        retryInterval: RETRY_MS,
        onsessioninitialized: (id) => void transports.set(id, made),
      });
      await makeServer().connect(made);
      transport = made;
    }
    await transport.handleRequest(request, response, request.body);
  });
  const server = createServer(app);
  return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => closeServer(server) };
}
