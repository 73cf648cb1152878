/** A tool server that introspects every call, with spans. It runs as a separate process. */

import { createToolServer } from '@mandate/tool-server';
import { expressProtection } from '@mandate/tool-server/express';
import { openTelemetrySpans } from '@mandate/tool-server/opentelemetry';
import express from 'express';

const { MANDATE_ISSUER = '', AUDIENCE = '' } = process.env;

const toolServer = createToolServer({ issuer: MANDATE_ISSUER, audience: AUDIENCE, startSpan: openTelemetrySpans() });
const app = express();
app.get('/issues', expressProtection(toolServer)({ scope: ['jira:read'], highRisk: true }), (_request, response) => {
  response.json({ issues: [] });
});
const listening = app.listen(0, '127.0.0.1', () => {
  const address = listening.address();
  if (typeof address === 'object') console.log(`Listening on http://127.0.0.1:${address?.port}`);
});
