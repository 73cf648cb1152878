/** A real MCP server with sessions, as protocol revisions before 2026-07-28 have them. */

import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { McpServer } from '@modelcontextprotocol/server';
import type { Request, Response } from 'express';

/**
 * Finds the session by the id that the client presents, as the documentation of the SDK does.
 *
 * @param make makes the server of each session
 * @returns a handler, whose `body` is the parsed one; `undefined` lets the transport read it
 */
export function inSessions(make: () => McpServer) {
  const transports = new Map<string, NodeStreamableHTTPServerTransport>();
  return async (request: Request, response: Response, body: unknown): Promise<void> => {
    const presented = request.get('mcp-session-id');
    let transport = presented === undefined ? undefined : transports.get(presented);
    if (transport === undefined) {
      const made = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void transports.set(id, made),
      });
      await make().connect(made);
      transport = made;
    }
    await transport.handleRequest(request, response, body);
  };
}
