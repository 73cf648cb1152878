/** Writes a refusal to a node:http response, which Express and MCP servers use too. */

import type { ServerResponse } from 'node:http';
import type { Refusal } from './refusal.ts';

export function answerRefusal(response: ServerResponse, { status, headers, body }: Refusal): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // RFC 6750 §5.3: the response depends on the token, so no cache may reuse it.
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
