/** Decides for a gateway whether a request may pass: 204 with the names of person and agent, or the refusal. */

import { createToolServer } from '@mandate/tool-server';
import { claimsOf, expressProtection, refuseUnknownRoutes } from '@mandate/tool-server/express';
import express from 'express';

const { MANDATE_ISSUER = '', AUDIENCE = '', PORT = '0' } = process.env;

const toolServer = createToolServer({ issuer: MANDATE_ISSUER, audience: AUDIENCE });
const protect = expressProtection(toolServer);
const app = express();

/** The gateway's configuration chooses the policy of a request, never the client. */
const policies = { read: { scope: ['jira:read'] }, delete: { scope: ['jira:admin'], highRisk: true } };
for (const [name, policy] of Object.entries(policies)) {
  app.get(`/check/${name}`, protect({ ...policy, name }), (request, response) => {
    const { sub, act } = claimsOf(request);
    // A header holds no letters beyond ASCII.
    response.set('X-Mandate-Person', encodeURIComponent(sub));
    response.set('X-Mandate-Agent', encodeURIComponent(act?.sub ?? ''));
    response.status(204).end();
  });
}

app.use(refuseUnknownRoutes(toolServer));

const listening = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = listening.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
