/**
 * A tool server over plain HTTP: an Express app with an ordinary route and a high-risk route. A revocation takes effect at
 * once on the high-risk route.
 */

import { createToolServer } from '@mandate/tool-server';
import { claimsOf, expressProtection, refuseUnknownRoutes } from '@mandate/tool-server/express';
import express from 'express';
import { freePort } from '../free-port.ts';
import type { AccessLog } from './access-log.ts';
import { type GuardedServer, serve } from './guarded-server.ts';

export async function startJiraApi(issuer: string, log: AccessLog): Promise<GuardedServer> {
  const audience = `http://127.0.0.1:${await freePort()}/api`;
  // No skew, because both servers use one clock. With the usual minute the quickstart would have to wait longer.
  const toolServer = createToolServer({ issuer, audience, clockSkewSeconds: 0, onAccess: log.record });
  const protect = expressProtection(toolServer);
  const app = express();

  app.get('/api/issues/:key', protect({ scope: ['jira:read'] }), (request, response) => {
    const { sub, act } = claimsOf(request);
    response.json({ key: request.params.key, readFor: sub, readBy: act?.sub });
  });

  const commenting = protect({ scope: ['jira:comment'], highRisk: true });
  app.post('/api/issues/:key/comments', commenting, (request, response) => {
    response.status(201).json({ key: request.params.key, writtenFor: claimsOf(request).sub });
  });

  app.use(refuseUnknownRoutes(toolServer));
  return serve(app, audience);
}
