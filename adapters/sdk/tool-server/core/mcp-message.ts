/** Parses an MCP message before the server does (JSON-RPC 2.0 §4; MCP "Streamable HTTP"). */

import type { IncomingMessage } from 'node:http';
import { isSentObject, mayBeRounded, readAsSent, type SentJson } from '../../../../domain/tokens/json-as-sent.ts';
import { type Json, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import { readUtf8 } from '../../../../domain/tokens/strict-utf8.ts';
import { hasTooManyParts } from './json-parts.ts';
import { readBody } from './read-body.ts';

/** An error response of the MCP protocol, which the catalogue of refusals does not have. */
export interface ProtocolFault {
  readonly kind: 'fault';
  readonly status: 400 | 404 | 413 | 415;
  /** An error code of JSON-RPC 2.0 §5.1. */
  readonly code: number;
  readonly message: string;
}

/** A call of a tool. */
export interface CalledTool {
  readonly kind: 'tool';
  readonly name: string;
  readonly id: unknown;
  readonly arguments: unknown;
  readonly meta: unknown;
  /** Its parts as they were sent; `undefined` if a body parser has read the message. The first use reads them. */
  sent(): SentParts | undefined;
  /** Whether `sent` may have another number than the other members. */
  mayBeRounded(): boolean;
}

/** Parts of a message with their numbers as they were sent. */
export interface SentParts {
  readonly id: SentJson;
  readonly arguments: SentJson;
  readonly meta: SentJson;
}

export type McpMessage =
  | CalledTool
  /** A request or a notification that calls no tool. */
  | { readonly kind: 'method'; readonly name: string }
  /** The client's response to a request of the server. */
  | { readonly kind: 'response' };

/** Error codes of JSON-RPC 2.0 §5.1. */
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const PARSE_ERROR = -32700;

/** Reads the tool or method that a message names. @param body parsed JSON @param text of the body, if it is known */
export function readMessage(body: unknown, text?: string): McpMessage | ProtocolFault {
  if (Array.isArray(body)) {
    // Only one revision of MCP had batches. A batch would need several decisions, but HTTP has one status for all.
    return fault('Batches are not accepted: send each message by itself.');
  }
  const message = membersOf(body);
  const params = membersOf(message?.get('params'));
  // Some JSON parsers set the object's prototype from this member, so they see other members.
  if (message === undefined || message.has('__proto__') || params?.has('__proto__')) return NO_MESSAGE;
  const method = message.get('method');
  if (method === undefined) return isResponse(message) ? { kind: 'response' } : NO_MESSAGE;
  if (typeof method !== 'string') return NO_MESSAGE;
  if (method === 'tools/call') {
    const name = params?.get('name');
    if (typeof name === 'string') {
      return {
        kind: 'tool',
        name,
        id: message.get('id'),
        arguments: params?.get('arguments'),
        meta: params?.get('_meta'),
        sent: sentParts(text),
        mayBeRounded: () => text === undefined || mayBeRounded(text),
      };
    }
    return fault('A call names its tool.', INVALID_PARAMS);
  }
  // A subscription to resources reveals their changes, so it counts as `resources/subscribe` under either method name.
  const tells = method === 'subscriptions/listen' && namesResources(params);
  return { kind: 'method', name: tells ? 'resources/subscribe' : method };
}

/** Reads the parts at the first use: most calls need none. @param text of the message, if it is known */
export function sentParts(text: string | undefined): CalledTool['sent'] {
  let parts: SentParts | undefined;
  return () => {
    if (text !== undefined) parts ??= partsOf(readAsSent(text));
    return parts;
  };
}

function partsOf(message: SentJson): SentParts {
  const { id = null, params = null } = isSentObject(message) ? message : {};
  const { arguments: args = {}, _meta: meta = null } = isSentObject(params) ? params : {};
  return { id, arguments: args, meta };
}

function fault(message: string, code = INVALID_REQUEST, status: ProtocolFault['status'] = 400): ProtocolFault {
  return { kind: 'fault', status, code, message };
}

export const NO_MESSAGE = fault('The body is not a JSON-RPC message.');

function isResponse(message: ReadonlyMap<string, unknown>): boolean {
  return message.has('id') && (message.has('result') || message.has('error'));
}

function namesResources(params: ReadonlyMap<string, unknown> | undefined): boolean {
  const filter = membersOf(params?.get('notifications'));
  return filter?.has('resourceSubscriptions') ?? false;
}

/** The object's own members. `undefined` if the value is not an object. */
export function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? new Map(Object.entries(value)) : undefined;
}

/** The code that the MCP SDK uses for errors with an HTTP status. */
const SERVER_ERROR = -32000;

/** Refuses a body for its form, before it is read. */
export function unsupportedBody(message: string): ProtocolFault {
  return fault(message, SERVER_ERROR, 415);
}

/** Reads and parses the body of a request once. The server gets the value, or the bytes, that were checked. */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<
  { readonly kind: 'read'; readonly body: Json; readonly bytes: Buffer; readonly text: string } | ProtocolFault
> {
  const read = await readBody(request, maxBytes);
  if (read.kind === 'compressed') return unsupportedBody('Compressed bodies are not accepted.');
  if (read.kind === 'too_long') return fault(`The body is longer than ${maxBytes} bytes.`, SERVER_ERROR, 413);
  const text = read.kind === 'read' ? readUtf8(read.bytes) : undefined;
  if (text !== undefined && hasTooManyParts(text)) {
    return fault('The body has too many members, objects or items.', SERVER_ERROR, 413);
  }
  const body = text === undefined ? undefined : parseStrictJson(text);
  if (read.kind === 'read' && text !== undefined && body !== undefined) {
    return { kind: 'read', body, bytes: read.bytes, text };
  }
  return fault('The body is not JSON, or JSON that readers would disagree about.', PARSE_ERROR, 400);
}
