/** The keys of tool servers that may ask for approvals: fetched from their `JwksUri`, by the rules of an agent's keys. */

import { expect } from 'chai';
import { databases, type TestDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { fieldsOf, JIRA, type Mandate, startMandate, withService } from '../support/mandate.ts';
import { type AskingServer, askingServer, asks, jwksOf } from '../support/tool-server/approval-request.ts';

const NO_KEYS = 'There are no usable keys of 1 of 1 tool servers: they cannot ask for approvals.';

describe('The keys of a tool server that may ask for approvals', () => {
  let mandate: Mandate;
  let jira: AskingServer;
  let next: AskingServer;
  let server: Loopback;
  let published: object;
  let status: number;
  const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };

  before(async () => {
    [jira, next] = [await askingServer(JIRA, clock), await askingServer(JIRA, clock)];
    [published, status] = [JSON.parse(jwksOf(jira)), 200];
    server = await startLoopback((request, response) => answering(published, status)(request, response), { tls: true });
    mandate = await startMandate({
      database: databases[0] as TestDatabase,
      settings: {
        'Service:Approvals:Enabled': 'true',
        'Service:Me:ClientId': 'the-page',
        'Service:Approvals:Resources:0:Audience': JIRA,
        'Service:Approvals:Resources:0:JwksUri': `${server.url}/keys`,
        'Service:Audit:Aggregation:Enabled': 'false',
      },
    });
  });
  after(async () => {
    await mandate.stop();
    await server.close();
  });

  const asked = async (by: AskingServer) => {
    const agent = await mandate.agent();
    const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
    return asks(mandate, token, by.request(taskId));
  };
  const readiness = async () => {
    const { body } = await mandate.untilReady({ accept: 'application/json' });
    return (body.checks as Record<string, { status: string }>).approval_keys?.status;
  };

  it('are fetched at the start, and again for an unknown kid, so that a key can be rotated', async () => {
    expect(await readiness()).to.equal('Healthy');
    expect((await asked(jira)).body.state).to.equal('pending');
    const fetched = server.received.length;
    expect((await asked(jira)).body.state).to.equal('pending');
    expect(server.received.length, 'the keys are cached').to.equal(fetched);
    published = JSON.parse(jwksOf(jira, next));
    expect((await asked(next)).body.state).to.equal('pending');
    expect(server.received.length).to.equal(fetched + 1);
  });

  it('cause 503 if a new one cannot be fetched, while the known ones still verify', async () => {
    status = 500;
    const stranger = await askingServer(JIRA, clock);
    mandate.clock.advance(31);
    const lines = await mandate.recorded(async () => {
      const answer = await asked(stranger);
      expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
    });
    expect(fieldsOf(lines, 'event', 'reason').at(-1)).to.deep.equal(['token.denied', 'approval_keys_unavailable']);
    expect((await asked(jira)).body.state).to.equal('pending');
    expect(await readiness()).to.equal('Healthy');
  });

  it('degrade the readiness if they are old, or none of them can be used', async () => {
    [published, status] = [JSON.parse(jwksOf(jira)), 200];
    await withService(mandate.another({}), async (another) => {
      const check = async () => {
        const { body } = await another.untilReady({ accept: 'application/json' });
        return (body.checks as Record<string, { status: string; detail: string }>).approval_keys;
      };
      await eventually(async () => (await check())?.status === 'Healthy');
      status = 500;
      another.clock.advance(15 * 60 + 1);
      const OLD = 'The keys of 1 of 1 tool servers were last fetched over 15 minutes ago.';
      expect(await check()).to.deep.equal({ status: 'Degraded', detail: OLD });
      [published, status] = [{ keys: [] }, 200];
      another.clock.advance(31);
      await eventually(async () => (await check())?.detail === NO_KEYS);
    });
  });
});
