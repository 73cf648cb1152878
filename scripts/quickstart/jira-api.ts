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

/** The minimum, because the quickstart waits until the list shows a kill. */
export const LIST_AGE_MS = 1000;

/** @param replicaOf another such server. Its replica polls the status list, so a kill reaches all routes within seconds */
export async function startJiraApi(issuer: string, log: AccessLog, replicaOf?: GuardedServer): Promise<GuardedServer> {
  const address = `http://127.0.0.1:${await freePort()}/api`;
  const audience = replicaOf?.audience ?? address;
  // No skew, because both servers use one clock. With the usual minute the quickstart would have to wait longer.
  const options = { issuer, audience, clockSkewSeconds: 0, onAccess: log.record };
  const toolServer = createToolServer(
    replicaOf === undefined ? options : { ...options, statusList: { maxAgeMs: LIST_AGE_MS } },
  );
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
  return serve(app, address, audience);
}
