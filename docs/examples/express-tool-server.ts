/** A tool server on Express: one ordinary route, one high-risk route where a revocation takes effect at once. */

import { createToolServer } from '@mandate/tool-server';
import { claimsOf, expressProtection, refuseUnknownRoutes } from '@mandate/tool-server/express';
import express from 'express';

const { MANDATE_ISSUER = '', AUDIENCE = '', PORT = '0' } = process.env;

const toolServer = createToolServer({ issuer: MANDATE_ISSUER, audience: AUDIENCE });
const protect = expressProtection(toolServer);
const app = express();

app.get('/issues/:key', protect({ scope: ['jira:read'] }), (request, response) => {
  const { sub, act } = claimsOf(request);
  response.json({ key: request.params.key, readFor: sub, readBy: act?.sub });
});

app.delete('/issues/:key', protect({ scope: ['jira:admin'], highRisk: true }), (request, response) => {
  response.json({ deletedFor: claimsOf(request).sub });
});

app.use(refuseUnknownRoutes(toolServer));

const listening = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = listening.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
