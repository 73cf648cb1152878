/** A tool server on Fastify: one ordinary route, one high-risk route where a revocation takes effect at once, one open route. */

import { createToolServer } from '@mandate/tool-server';
import { claimsOf, mandateProtection } from '@mandate/tool-server/fastify';
import fastify from 'fastify';

const { MANDATE_ISSUER = '', AUDIENCE = '', PORT = '0' } = process.env;

const toolServer = createToolServer({ issuer: MANDATE_ISSUER, audience: AUDIENCE });
const app = fastify();
await app.register(mandateProtection, { toolServer, open: ['GET /healthz'] });

app.get('/healthz', async () => 'Healthy');

app.get<{ Params: { key: string } }>(
  '/issues/:key',
  { config: { mandate: { scope: ['jira:read'] } } },
  async (request) => {
    const { sub, act } = claimsOf(request);
    return { key: request.params.key, readFor: sub, readBy: act?.sub };
  },
);

app.delete('/issues/:key', { config: { mandate: { scope: ['jira:admin'], highRisk: true } } }, async (request) => ({
  deletedFor: claimsOf(request).sub,
}));

console.log(`Listening on ${await app.listen({ port: Number(PORT), host: '127.0.0.1' })}`);
