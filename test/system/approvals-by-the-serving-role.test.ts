/**
 * A holder of the service's own role on Postgres changes the row of an approval. The role may set a state, and may delete and
 * insert rows: no such row is shown, answered or used (docs/auditing.md, "Limits of the guarantees").
 */

import { expect } from 'chai';
import type { TaskApproval } from '../../application/ports/approvals.ts';
import { FORGED } from '../support/approvals-altered.ts';
import { connectOutside, postgres } from '../support/databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { type AskingServer, approvalSettings, askingServer, asks } from '../support/tool-server/approval-request.ts';

const ME = 'https://mandate.test/me';

describe('An approval whose row the serving role of Postgres changed', function () {
  this.timeout(60_000);
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let jira: AskingServer;
  let serving: Awaited<ReturnType<typeof connectOutside>>;
  before(async () => {
    jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
    const fresh = await postgres.fresh();
    mandate = await startMandate({
      database: { ...postgres, fresh: async () => fresh },
      settings: { 'Service:Me:Audience': ME, 'Service:Me:ClientId': 'the-page', ...approvalSettings(jira) },
    });
    agent = await mandate.agent();
    serving = await connectOutside(fresh, 'serving');
  });
  after(async () => {
    await serving.close();
    await mandate.stop();
  });

  async function waiting() {
    const sub = `ada-${Math.random()}`;
    const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub })).body;
    const ask = () => asks(mandate, token, jira.request(taskId));
    const approval = await mandate.approval(String((await ask()).body.approval_id));
    const authorization = `Bearer ${agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() })}`;
    const list = () => mandate.get('/me/approvals', { authorization });
    const approve = ({ approvalId, commitment }: TaskApproval) =>
      mandate.send(`/me/approvals/${approvalId}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body: JSON.stringify({ decision: 'approve', commitment }),
      });
    return { approval, ask, list, approve };
  }

  async function expectNotUsed(ask: Awaited<ReturnType<typeof waiting>>['ask']): Promise<void> {
    const records = await mandate.recorded(async () => {
      const { status, body } = await ask();
      expect({ status, error: body.error }).to.deep.equal({ status: 503, error: 'temporarily_unavailable' });
      expect(body).not.to.have.property('state');
    });
    expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.denied', 'approval_altered']]);
  }

  async function expectAltered({ approval, list, approve }: Awaited<ReturnType<typeof waiting>>): Promise<void> {
    const listed = await list();
    expect(listed.status).to.equal(409);
    expect(listed.text).not.to.contain(FORGED.title);
    const records = await mandate.recorded(async () => {
      const { status, body } = await approve(await mandate.approval(approval.approvalId));
      expect({ status, error: body.error }).to.deep.equal({ status: 409, error: 'altered' });
    });
    expect(records).to.deep.equal([]);
  }

  /** Deletes the row and inserts it again with other values: the role may not update words. */
  async function rewrite({ approvalId }: TaskApproval, values: object): Promise<void> {
    const where = `where approval_id = '${approvalId}'`;
    const [found] = await serving.sql(`select row_to_json(a)::text as kept from approvals a ${where}`);
    const row = JSON.stringify({ ...JSON.parse(String(found?.kept)), ...values }).replaceAll("'", "''");
    await serving.sql(`delete from approvals ${where}`);
    await serving.sql(`insert into approvals select * from json_populate_record(null::approvals, '${row}')`);
  }

  it('is not used when the role sets `granted`', async () => {
    const { approval, ask, approve } = await waiting();
    await serving.sql(
      `update approvals set state = 'granted', decided_at = requested_at where approval_id = '${approval.approvalId}'`,
    );
    await expectNotUsed(ask);
    const { status, body } = await approve(approval);
    expect({ status, error: body.error }).to.deep.equal({ status: 409, error: 'altered' });
  });

  it('has words that the role may not update', async () => {
    const { approval } = await waiting();
    let refused: unknown;
    await serving
      .sql(`update approvals set title = '${FORGED.title}' where approval_id = '${approval.approvalId}'`)
      .catch((error: unknown) => {
        refused = error;
      });
    expect(String(refused)).to.match(/permission denied|may not/);
  });

  const REWRITTEN = {
    'other words': FORGED,
    'another commitment': { commitment: 'a'.repeat(64) },
  };
  for (const [name, values] of Object.entries(REWRITTEN)) {
    it(`is neither shown, answered nor used when the role deletes it and inserts its id anew: ${name}`, async () => {
      const asked = await waiting();
      const before = await mandate.approval(asked.approval.approvalId);
      await rewrite(asked.approval, values);
      expect(await mandate.approval(asked.approval.approvalId)).not.to.deep.equal(before);
      await expectAltered(asked);
      await expectNotUsed(asked.ask);
    });
  }

  it('is shown and answered when the role inserts the row as it was', async () => {
    const { approval, ask, approve, list } = await waiting();
    await rewrite(approval, {});
    expect((await list()).status).to.equal(200);
    expect((await approve(approval)).body).to.deep.equal({ state: 'granted' });
    expect((await ask()).body.state).to.equal('granted');
  });

  it('is not used when the role inserts a row with a yes', async () => {
    const { approval, ask } = await waiting();
    await rewrite(approval, { ...FORGED, state: 'granted', decided_at: '2026-01-01T00:00:00Z' });
    await expectNotUsed(ask);
  });
});
