/** Protected-resource metadata (RFC 9728). It tells clients which control planes issue tokens for this server. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Scope } from '../../../../domain/scope.ts';
import type { ToolServer } from './tool-server.ts';

export interface ResourceMetadata {
  readonly url: string;
  /** Answers a request for the metadata. Returns false for any other request. */
  answer(request: IncomingMessage, response: ServerResponse): boolean;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** @param scopes all scopes of all policies */
export function resourceMetadata({ issuers, audience }: ToolServer, scopes: Scope): ResourceMetadata {
  // RFC 9728 §3.1: the well-known path is inserted between the host and the audience's path.
  const { origin, pathname, search } = new URL(audience);
  const path = `${WELL_KNOWN}${pathname === '/' ? '' : pathname}${search}`;
  const text = JSON.stringify({
    resource: audience,
    authorization_servers: issuers,
    scopes_supported: [...new Set(scopes)].sort(),
    bearer_methods_supported: ['header'],
  });

  return {
    url: `${origin}${path}`,
    answer(request: IncomingMessage & { readonly originalUrl?: string }, response) {
      if ((request.originalUrl ?? request.url) !== path) return false;
      const { method } = request;
      // The document is public, so scripts of other origins may read it.
      response.setHeader('Access-Control-Allow-Origin', '*');
      if (method === 'OPTIONS') {
        response.setHeader('Access-Control-Allow-Methods', 'GET');
        response.setHeader('Access-Control-Allow-Headers', '*');
        response.writeHead(204).end();
      } else if (method === 'GET' || method === 'HEAD') {
        const length = Buffer.byteLength(text);
        response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': length });
        response.end(method === 'GET' ? text : undefined);
      } else {
        response.writeHead(405, { Allow: 'GET, HEAD, OPTIONS' }).end();
      }
      return true;
    },
  };
}
