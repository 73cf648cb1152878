/**
 * The table of docs/auditing.md, "What an owner can do to rows beside the ledger". Each row is made here: the change, then
 * what is answered, what the log has, and `audit-verify`. The page and the outcomes have to agree.
 */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { auditVerify } from '../../composition/commands/audit-verify.ts';
import { ALTERED_WORDS } from '../support/approvals-altered.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { makeSealingKey } from '../support/ledger/sealing-key.ts';
import { environmentOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { OPERATORS, operatorToken, ROLE_VALUES } from '../support/operators.ts';
import { alteredPurposes, alteredReasons } from '../support/rows-altered.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';

const page = await readFile(new URL('../../docs/auditing.md', import.meta.url), 'utf8');
const ME = 'https://mandate.test/me';
const VERIFY = {
  archive: undefined,
  bundle: undefined,
  policy: undefined,
  note: undefined,
  jwks: undefined,
  marks: [],
};

/** The cells of the table, by the change in the first column. */
function rowsOfPage(): ReadonlyMap<string, string> {
  const table = page.split('\n\n').find((block) => block.startsWith('| Done to a row beside the ledger |')) ?? '';
  const cells = table.split('\n').slice(2);
  return new Map(cells.map((line) => [line.slice(2).split(' | ')[0] ?? '', line]));
}

for (const database of databasesByLength) {
  describe(`The table of what an owner can do to rows beside the ledger, on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let fresh: FreshDatabase;
    let signing: Readonly<Record<string, string>>;
    before(async () => {
      signing = { 'Service:Signing:Keys:0:Pem': (await makeSealingKey()).pem };
      fresh = await database.fresh();
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const me = { 'Service:Me:Audience': ME, 'Service:Me:ClientId': 'the-page', 'Service:Tasks:Purpose': 'accept' };
      const settings = { ...signing, ...OPERATORS, ...me, ...approvalSettings(jira) };
      mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const headersOf = (sub: string) => ({
      authorization: `Bearer ${agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() })}`,
    });

    async function approvalAfter(change: (approval: Awaited<ReturnType<Mandate['approval']>>) => readonly string[]) {
      const sub = `ada-${Math.random()}`;
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub })).body;
      const ask = (digest: string) => asks(mandate, token, jira.request(taskId, { digest }));
      const approval = await mandate.approval(String((await ask(digestOf('delete 7'))).body.approval_id));
      for (const statement of change(approval)) await mandate.sql(statement);
      const { sponsorKey, digest, approvalId, commitment } = await mandate.approval(approval.approvalId);
      const headers = headersOf(sponsorKey);
      const listed = await mandate.get('/me/approvals', headers);
      const said = await mandate.send(`/me/approvals/${approvalId}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ decision: 'approve', commitment }),
      });
      const asked = await ask(digest);
      const answers = [listed, said, asked].map(({ status, body }) => `${status} ${body.error ?? 'as asked'}`);
      return [`list ${answers[0]}; yes ${answers[1]}`, answers[2], '-'];
    }

    async function started() {
      const sub = `ada-${Math.random()}`;
      const { task_id: id } = (await agent.exchangeFor({ sub }, { purpose: 'Pay', resource: JIRA })).body;
      return { id: String(id), sub };
    }

    async function purposeAfter(change: (id: string) => string) {
      const { id, sub } = await started();
      await mandate.sql(change(id));
      const mine = (await mandate.get('/me/tasks', headersOf(sub))).body.tasks as { purpose: unknown }[];
      const { body } = await mandate.admin('GET', `/admin/tasks/${id}`);
      return [`purpose ${mine[0]?.purpose}`, '-', `purpose ${body.purpose}`];
    }

    async function reasonAfter(assignment: string) {
      const { id } = await started();
      const token = operatorToken(mandate, { roles: [ROLE_VALUES.responder] });
      const headers = { authorization: `Bearer ${token}`, 'mandate-reason': 'Incident 4711' };
      expect((await mandate.send(`/admin/tasks/${id}`, { method: 'DELETE', headers })).status).to.equal(200);
      const newest = async () =>
        ((await mandate.admin('GET', '/admin/acts?limit=1')).body.acts as Readonly<Record<string, unknown>>[])[0];
      await mandate.sql(`update operator_acts set ${assignment} where seq = ${(await newest())?.seq}`);
      const act = await newest();
      return ['-', '-', `reason ${act?.reason}, difference ${act?.difference}`];
    }

    async function verdict(): Promise<string> {
      await mandate.jobs.seal();
      const request = { ...VERIFY, recordedKeys: false, json: false };
      const { result, out } = await withEnvironment(environmentOf({ ...fresh.settings, ...signing }), () =>
        capturingOutput(() => auditVerify(request, [])),
      );
      return `${result} ${out.split(':')[0]}`;
    }

    const state =
      (assignment: string) =>
      ({ approvalId }: { readonly approvalId: string }) => [
        `update approvals set ${assignment} where approval_id = '${approvalId}'`,
      ];
    const ROWS: Readonly<Record<string, () => Promise<readonly (string | undefined)[]>>> = {
      Nothing: () => approvalAfter(() => []),
      ...Object.fromEntries(
        Object.entries(ALTERED_WORDS).map(([name, change]) => [`Approval: ${name}`, () => approvalAfter(change)]),
      ),
      'Approval: a yes that the person did not say': () =>
        approvalAfter(state("state = 'granted', decided_at = requested_at")),
      'Approval: another person': () => approvalAfter(state("sponsor_key = 'mallory'")),
      ...Object.fromEntries(
        Object.entries(alteredPurposes(database.engine)).map(([name, change]) => [
          `Purpose: ${name}`,
          () => purposeAfter(change),
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(alteredReasons(database.engine)).map(([name, [assignment]]) => [
          `Reason: ${name}`,
          () => reasonAfter(assignment),
        ]),
      ),
    };

    it('has exactly the rows that are tried here', () => {
      expect([...rowsOfPage().keys()]).to.deep.equal(Object.keys(ROWS));
    });

    for (const [name, outcome] of Object.entries(ROWS)) {
      it(`says what is answered, logged and verified: ${name}`, async () => {
        const before = mandate.log.lines.length;
        const cells = await outcome();
        const errors = mandate.log.lines.slice(before).filter((line) => line.includes('"level":"error"'));
        const row = [name, ...cells, errors.length > 0 ? 'an error' : 'nothing', await verdict()];
        const line = `| ${row.join(' | ')} |`;
        expect(rowsOfPage().get(name), `the row has to be ${line}`).to.equal(line);
      });
    }
  });
}
