/** Runs the examples of docs/tool-servers.md. */

import { once } from 'node:events';
import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { startExample } from '../../support/example-process.ts';
import { JIRA, type Mandate, sharedMandate } from '../../support/mandate.ts';

describe('the examples of docs/tool-servers.md', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await sharedMandate(sqliteFile);
  });

  for (const name of ['express-tool-server.ts', 'fastify-tool-server.ts']) {
    it(`${name} allows and refuses requests, and logs each decision`, async function () {
      this.timeout(60_000);
      const environment = { MANDATE_ISSUER: mandate.issuer, AUDIENCE: JIRA };
      const { url, child, lines, stop } = await startExample(name, environment);
      try {
        const agent = await mandate.agent();
        const scope = 'jira:read jira:admin';
        const subject = mandate.provider.mintAccessToken({ scope });
        const { body } = await agent.exchange({ subject_token: subject, scope });
        const call = (method: string, token = String(body.access_token)) =>
          fetch(`${url}/issues/OPS-7`, { method, headers: { authorization: `Bearer ${token}` } });

        const read = await call('GET');
        expect(await read.json()).to.deep.equal({ key: 'OPS-7', readFor: 'ada', readBy: `agent:${agent.id}` });
        expect(await (await call('DELETE')).json()).to.deep.equal({ deletedFor: 'ada' });
        await mandate.admin('DELETE', `/admin/tasks/${String(body.task_id)}`);
        expect((await call('GET')).status).to.equal(200);
        expect((await call('DELETE')).status).to.equal(401);
        expect((await call('POST')).status).to.equal(403);
        expect((await call('GET', 'stolen')).status).to.equal(401);

        while (lines.length < 6) await once(child.stdout ?? child, 'data');
        const decisions = lines.map((line) => (JSON.parse(line) as Record<string, unknown>).reason);
        expect(decisions).to.deep.equal([null, null, null, 'not_active', 'unknown_route', 'malformed_token']);
      } finally {
        await stop();
      }
    });
  }
});
