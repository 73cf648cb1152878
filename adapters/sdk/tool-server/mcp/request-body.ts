/** Reads and parses the body of an MCP request once: the SDK gets the same value that the guard checked. */

import type { IncomingMessage } from 'node:http';
import { type Json, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import type { ProtocolFault } from './message.ts';

/** JSON-RPC 2.0 §5.1. */
const PARSE_ERROR = -32700;
/** The code that the MCP SDK uses for errors with an HTTP status. */
const SERVER_ERROR = -32000;

export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly kind: 'read'; readonly body: Json } | ProtocolFault> {
  if (request.headers['content-encoding'] !== undefined) {
    return fault(415, SERVER_ERROR, 'Compressed bodies are not accepted.');
  }
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // The connection stays open for the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length > maxBytes) return fault(413, SERVER_ERROR, `The body is longer than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    const body = parseStrictJson(text);
    if (body !== undefined) return { kind: 'read', body };
  } catch {
    // The body was incomplete or not UTF-8.
  }
  return fault(400, PARSE_ERROR, 'The body is not JSON, or JSON that readers would disagree about.');
}

function fault(status: ProtocolFault['status'], code: number, message: string): ProtocolFault {
  return { kind: 'fault', status, code, message };
}
