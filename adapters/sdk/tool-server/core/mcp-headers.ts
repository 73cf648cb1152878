/**
 * The headers that repeat a part of an MCP message (MCP 2026-07-28, "Streamable HTTP"): a gateway in front may route or limit by
 * them. One that names another method, tool or revision than the body is refused: two readers would see two requests.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { readUtf8 } from '../../../../domain/tokens/strict-utf8.ts';
import { type McpMessage, membersOf, type ProtocolFault, sentParts } from './mcp-message.ts';
import { headerValues } from './raw-headers.ts';

/** The member of the parameters that `Mcp-Name` repeats. Other methods have none. */
const NAMED_BY: ReadonlyMap<unknown, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** The member of `_meta` that `MCP-Protocol-Version` repeats. `protocolVersion` of `initialize` is an offer. */
export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';

/** HeaderMismatch (MCP 2026-07-28). */
export const HEADERS_DIFFER: ProtocolFault = {
  kind: 'fault',
  status: 400,
  code: -32020,
  message: 'A header names another method, name or protocol version than the body, or is there twice.',
};

/**
 * Whether a header differs from what the message states. A header that is absent, and one of which the message states nothing,
 * is not compared.
 */
export function headersDiffer(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>, message: unknown): boolean {
  const members = membersOf(message);
  const params = membersOf(members?.get('params'));
  const method = members?.get('method');
  const named = NAMED_BY.get(method);
  return (
    differs(linesOf(request, 'mcp-method'), method) ||
    differs(linesOf(request, 'mcp-name').map(decodedName), named && params?.get(named)) ||
    differs(linesOf(request, 'mcp-protocol-version'), membersOf(params?.get('_meta'))?.get(PROTOCOL_VERSION))
  );
}

/** Readers of two lines take the first, the last or both, so two equal ones differ too. */
function differs(lines: readonly (string | undefined)[], stated: unknown): boolean {
  return lines.length > 0 && stated !== undefined && (lines.length > 1 || lines[0] !== stated);
}

/** Adapters for functions (`serverless-http`) make requests without `rawHeaders`. */
function linesOf({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>, name: string) {
  return rawHeaders.length > 0 ? headerValues(rawHeaders, name) : [headers[name] ?? []].flat();
}

/** Clients encode a name in this form if it does not fit into a header. */
const ENCODED = /^=\?base64\?(.*)\?=$/s;

/** `undefined` for Base64 that is not canonical, or no UTF-8: readers would disagree about it. */
function decodedName(value: string): string | undefined {
  const [, encoded] = ENCODED.exec(value) ?? [];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? readUtf8(bytes) : undefined;
}

/**
 * The tool or method in the headers. They are only a hint, for the challenge of a request whose body is not read. A body that
 * is read decides.
 */
export function messageOfHeaders(headers: IncomingHttpHeaders): McpMessage | undefined {
  const [method, name] = [headers['mcp-method'], headers['mcp-name']];
  if (typeof method !== 'string') return undefined;
  if (method !== 'tools/call') return { kind: 'method', name: method };
  const tool = typeof name === 'string' ? decodedName(name) : undefined;
  if (tool === undefined) return undefined;
  return {
    kind: 'tool',
    name: tool,
    id: undefined,
    arguments: undefined,
    meta: undefined,
    sent: sentParts(undefined),
    mayBeRounded: () => true,
  };
}
