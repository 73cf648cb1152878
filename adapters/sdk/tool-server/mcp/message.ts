/**
 * What a JSON-RPC message asks for (JSON-RPC 2.0 §4; MCP "Streamable HTTP"), read before the SDK reads it, so that a
 * refusal is an HTTP answer like any other server's.
 */

/** An answer that the protocol has and the refusals of a tool server do not: with it a client knows what to do. */
export interface ProtocolFault {
  readonly kind: 'fault';
  readonly status: 400 | 404 | 413 | 415;
  /** JSON-RPC 2.0 §5.1. */
  readonly code: number;
  readonly message: string;
}

export type McpMessage =
  | { readonly kind: 'tool'; readonly name: string }
  /** A request or a notification that calls no tool. */
  | { readonly kind: 'method'; readonly name: string }
  /** The client's answer to a question of the server's. */
  | { readonly kind: 'response' };

const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

/** @param body parsed JSON */
export function readMessage(body: unknown): McpMessage | ProtocolFault {
  if (Array.isArray(body)) {
    // The protocol had batches for one revision. Half of one can't be refused, and all of one has no single decision.
    return fault('Batches are not accepted: send each message by itself.');
  }
  const message = membersOf(body);
  const params = membersOf(message?.get('params'));
  // A member that some readers take for the prototype of the object, with members of its own.
  if (message === undefined || message.has('__proto__') || params?.has('__proto__')) return fault(NO_MESSAGE);
  const method = message.get('method');
  if (method === undefined) return isResponse(message) ? { kind: 'response' } : fault(NO_MESSAGE);
  if (typeof method !== 'string') return fault(NO_MESSAGE);
  if (method === 'tools/call') {
    const name = params?.get('name');
    if (typeof name === 'string') return { kind: 'tool', name };
    return { ...fault('A call names its tool.'), code: INVALID_PARAMS };
  }
  // To be told of a resource is to learn about it, whatever the request is called.
  const tells = method === 'subscriptions/listen' && namesResources(params);
  return { kind: 'method', name: tells ? 'resources/subscribe' : method };
}

const NO_MESSAGE = 'The body is not a JSON-RPC message.';

function fault(message: string): ProtocolFault {
  return { kind: 'fault', status: 400, code: INVALID_REQUEST, message };
}

function isResponse(message: ReadonlyMap<string, unknown>): boolean {
  return message.has('id') && (message.has('result') || message.has('error'));
}

function namesResources(params: ReadonlyMap<string, unknown> | undefined): boolean {
  const filter = membersOf(params?.get('notifications'));
  return filter?.has('resourceSubscriptions') ?? false;
}

/** The object's own members; `undefined` for what is no object. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? new Map(Object.entries(value)) : undefined;
}
