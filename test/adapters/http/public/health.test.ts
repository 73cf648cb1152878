import { expect } from 'chai';
import express from 'express';
import { healthRouter } from '../../../../adapters/http/public/health.ts';
import { messageClasses } from '../../../../adapters/http/server/message-classes.ts';
import { serverWith } from '../../../support/http-server.ts';

describe('The readiness of the service', () => {
  it('escapes invisible characters of a name, and stays the same JSON', async () => {
    const detail = 'The witness w.example/\u202eeno\u200b does not answer.';
    const app = express();
    app.use(healthRouter([{ name: 'log', check: async () => ({ status: 'Degraded', detail }) }]));
    const server = await serverWith(app, { classes: messageClasses(app) });
    try {
      const url = `http://127.0.0.1:${server.address.port}/readyz`;
      const answer = await fetch(url, { headers: { accept: 'application/json' } });
      const text = await answer.text();
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([
        200,
        'application/json; charset=utf-8',
      ]);
      expect(text)
        .to.include('w.example/\\u202eeno\\u200b')
        .and.to.match(/^[ -~]+$/);
      expect(JSON.parse(text)).to.deep.equal({ status: 'Degraded', checks: { log: { status: 'Degraded', detail } } });
    } finally {
      await server.stop(0);
    }
  });
});
