/** The body of a request to an MCP endpoint, read whole and only once: what is checked here is what the SDK gets. */

import type { IncomingMessage } from 'node:http';
import { type Json, parseStrictJson } from '../../../../domain/tokens/strict-json.ts';
import type { ProtocolFault } from './message.ts';

/** JSON-RPC 2.0 §5.1. */
const PARSE_ERROR = -32700;
/** Those the MCP SDK uses itself for what HTTP has a status for. */
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
    // The connection stays: over it goes the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += chunk.length;
      if (length > maxBytes) return fault(413, SERVER_ERROR, `The body is longer than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    const body = parseStrictJson(text);
    if (body !== undefined) return { kind: 'read', body };
  } catch {
    // Cut off, or not UTF-8.
  }
  return fault(400, PARSE_ERROR, 'The body is not JSON, or JSON that readers would disagree about.');
}

function fault(status: ProtocolFault['status'], code: number, message: string): ProtocolFault {
  return { kind: 'fault', status, code, message };
}
