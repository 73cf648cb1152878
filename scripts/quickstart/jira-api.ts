/**
 * A tool server over plain HTTP: an Express app with an ordinary route, a high-risk route, and one whose every call the
 * person has to approve. A revocation takes effect at once on the latter two.
 */

import { generateKeyPairSync } from 'node:crypto';
import { type ApprovalKey, createToolServer } from '@mandate/tool-server';
import { claimsOf, expressProtection, refuseUnknownRoutes } from '@mandate/tool-server/express';
import express from 'express';
import { freePort } from '../free-port.ts';
import type { AccessLog } from './access-log.ts';
import { type GuardedServer, serve } from './guarded-server.ts';

/** The minimum, because the quickstart waits until the list shows a kill. */
export const LIST_AGE_MS = 1000;

/** The audience, and the key with which Jira asks for approvals. */
export interface JiraIdentity {
  readonly audience: string;
  readonly approvalKey: ApprovalKey;
  /** The public half as a key set, for `Service:Approvals:Resources`. */
  readonly jwks: string;
}

export async function makeJiraIdentity(): Promise<JiraIdentity> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const named = { kid: 'jira-1', alg: 'ES256', use: 'sig' };
  return {
    audience: `http://127.0.0.1:${await freePort()}/api`,
    approvalKey: { jwk: { ...privateKey.export({ format: 'jwk' }), ...named } },
    jwks: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), ...named }] }),
  };
}

/** @param replicaOf another such server. Its replica polls the status list, so a kill reaches all routes within seconds */
export async function startJiraApi(
  issuer: string,
  log: AccessLog,
  { audience, approvalKey }: JiraIdentity,
  replicaOf?: GuardedServer,
): Promise<GuardedServer> {
  const address = replicaOf === undefined ? audience : `http://127.0.0.1:${await freePort()}/api`;
  // No skew, because both servers use one clock. With the usual minute the quickstart would have to wait longer.
  const options = { issuer, audience, clockSkewSeconds: 0, approvalKey, onAccess: log.record };
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

  const deleting = protect({
    scope: ['jira:comment'],
    approval: ({ target }) => ({ title: `Delete the issue ${target.replace('/api/issues/', '')}` }),
  });
  app.delete('/api/issues/:key', deleting, (request, response) => {
    response.json({ key: request.params.key, deletedFor: claimsOf(request).sub });
  });

  app.use(refuseUnknownRoutes(toolServer));
  return serve(app, address, audience);
}
