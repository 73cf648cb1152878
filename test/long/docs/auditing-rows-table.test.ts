/**
 * The tables of docs/auditing.md, "What an owner can do to rows beside the ledger". Each row is made here: the change, then
 * what is answered, what the log has, and what the commands say. The page and the outcomes have to agree. The short form makes
 * every tenth row, on SQLite. At every push `test/system/rows-beside-the-ledger.test.ts` and
 * `test/system/approvals-altered.test.ts` hold what is refused.
 */

import { readFile } from 'node:fs/promises';
import { inflateSync } from 'node:zlib';
import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import { judgeBeside } from '../../../application/doctor/ledger.ts';
import type { StorageCondition } from '../../../application/ports/storage.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import { openCondition } from '../../../composition/doctor/sources.ts';
import { ALTERED_WORDS } from '../../support/approvals-altered.ts';
import { runMandate } from '../../support/cli-run.ts';
import { type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import { byLength } from '../../support/length.ts';
import { environmentOf, JIRA, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { operatorToken, ROLE_VALUES } from '../../support/operators.ts';
import { alteredPurposes, alteredReasons, alteredScopes, alteredStates } from '../../support/rows-altered.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../../support/tool-server/approval-request.ts';

const page = await readFile(new URL('../../../docs/auditing.md', import.meta.url), 'utf8');
const ME = 'https://mandate.test/me';
/** The default of `Service:StatusLists:Ttl`, in seconds: so long a list is served as it was read. */
const TTL = 5;

/** What the person wrote with each no. */
const LINE = { salt: 's'.repeat(43), text: 'Wrong account', hash: sha256(`${'s'.repeat(43)}Wrong account`) };

/** The cells of a table, by the change in the first column. */
function rowsOfPage(title: string): ReadonlyMap<string, string> {
  const table = page.split('\n\n').find((block) => block.startsWith(`| ${title} |`)) ?? '';
  const cells = table.split('\n').slice(2);
  return new Map(cells.map((line) => [line.slice(2).split(' | ')[0] ?? '', line]));
}

/** What a tool server reads in the list of the token. */
async function isInvalidInList({ get }: Mandate, token: string): Promise<boolean> {
  const payloadOf = (jwt: string) => JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
  const { idx, uri } = payloadOf(token).status.status_list;
  const { text } = await get(new URL(uri).pathname);
  const bits = inflateSync(Buffer.from(payloadOf(text).status_list.lst, 'base64url'));
  return (((bits[idx >> 3] ?? 0) >> (idx & 7)) & 1) === 1;
}

/** All at full length, otherwise every tenth. */
const someOf = <Row>(rows: readonly Row[]): readonly Row[] =>
  rows.filter((_, nth) => nth % byLength({ short: 10, full: 1 }) === 0);

for (const database of databasesByLength) {
  describe(`The table of what an owner can do to rows beside the ledger, on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let fresh: FreshDatabase;
    let signing: Readonly<Record<string, string>>;
    let service: Awaited<ReturnType<typeof startConsole>>;
    let olga: OperatorAtConsole;
    let condition: StorageCondition;
    before(async () => {
      signing = { 'Service:Signing:Keys:0:Pem': (await makeSealingKey()).pem };
      fresh = await database.fresh();
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const me = { 'Service:Me:Audience': ME, 'Service:Me:ClientId': 'the-page', 'Service:Tasks:Purpose': 'accept' };
      const settings = {
        ...signing,
        ...me,
        'Service:StatusLists:Enabled': 'true',

        ...approvalSettings(jira),
      };
      service = await startConsole({ ...database, fresh: async () => fresh }, settings);
      mandate = service.mandate;
      olga = await service.signedIn('auditor');
      const found = doctorSettings({ environment: environmentOf(fresh.settings), overrides: [] });
      const opened = await openCondition(found.section('Service:Database') as never);
      if (opened.kind !== 'opened') throw new Error(opened.sentence);
      condition = opened.condition;
      agent = await mandate.agent();
    });
    after(async () => {
      await condition.close();
      await service.stop();
    });

    const headersOf = (sub: string) => ({
      authorization: `Bearer ${agent.subjectToken({ sub, aud: ME, auth_time: mandate.clock.seconds() })}`,
    });

    /** What the readers of a row answer, and which row it is. */
    interface Outcome {
      readonly answers: readonly (string | undefined)[];
      readonly taskId: string;
      readonly rowId: string;
    }

    async function approvalAfter(
      change: (approval: Awaited<ReturnType<Mandate['approval']>>) => readonly string[],
      before?: 'refused' | 'used',
    ): Promise<Outcome> {
      const sub = `ada-${Math.random()}`;
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub })).body;
      const ask = (digest: string) => asks(mandate, token, jira.request(taskId, { digest }));
      const approval = await mandate.approval(String((await ask(digestOf('delete 7'))).body.approval_id));
      if (before === 'refused') await mandate.answer(approval.approvalId, 'refuse', { says: LINE });
      if (before === 'used') await mandate.answer(approval.approvalId, 'approve');
      if (before === 'used') await ask(approval.digest);
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
      const answers = [listed, said].map(({ status, body }) => `${status} ${body.error ?? 'as asked'}`);
      const cells = [
        `list ${answers[0]}; yes ${answers[1]}`,
        `${asked.status} ${asked.body.error ?? asked.body.state}`,
        '-',
      ];
      return { answers: cells, taskId: String(taskId), rowId: approvalId };
    }

    async function started() {
      const sub = `ada-${Math.random()}`;
      const { task_id: id } = (await agent.exchangeFor({ sub }, { purpose: 'Pay', resource: JIRA })).body;
      return { id: String(id), sub };
    }

    async function purposeAfter(change: (id: string) => string): Promise<Outcome> {
      const { id, sub } = await started();
      await mandate.sql(change(id));
      const mine = (await mandate.get('/me/tasks', headersOf(sub))).body.tasks as { purpose: unknown }[];
      const { body } = await mandate.admin('GET', `/admin/tasks/${id}`);
      const answers = [`purpose ${mine[0]?.purpose}`, '-', `purpose ${body.purpose}`];
      return { answers, taskId: id, rowId: id };
    }

    /** The admin API has no origin of a scope, the console has. */
    async function scopeAfter(assignment: string): Promise<Outcome> {
      const { id } = await started();
      await mandate.sql(`update tasks set ${assignment} where task_id = '${id}'`);
      await mandate.admin('GET', `/admin/tasks/${id}`);
      return { answers: ['-', '-', '-'], taskId: id, rowId: id };
    }

    async function reasonAfter(assignment: string): Promise<Outcome> {
      const { id } = await started();
      const token = operatorToken(mandate, { roles: [ROLE_VALUES.responder] });
      const headers = { authorization: `Bearer ${token}`, 'mandate-reason': 'Incident 4711' };
      expect((await mandate.send(`/admin/tasks/${id}`, { method: 'DELETE', headers })).status).to.equal(200);
      const newest = async () =>
        ((await mandate.admin('GET', '/admin/acts?limit=1')).body.acts as Readonly<Record<string, unknown>>[])[0];
      await mandate.sql(`update operator_acts set ${assignment} where seq = ${(await newest())?.seq}`);
      const act = await newest();
      const answers = ['-', '-', `reason ${act?.reason}, difference ${act?.difference}`];
      return { answers, taskId: id, rowId: String(act?.seq) };
    }

    async function verdict(): Promise<string> {
      await mandate.jobs.seal();
      const { code, out } = await runMandate(['audit-verify'], { ...fresh.settings, ...signing });
      return `${code} ${out.split(':')[0]}`;
    }

    async function consoleSays(taskId: string): Promise<string> {
      const { status, text } = await olga.open(`/tasks/${taskId}`);
      expect(status).to.equal(200);
      return text.includes('Not shown') ? 'marked' : 'nothing';
    }

    /** What `mandate doctor` finds of this row alone: the rows of other cases stay changed. */
    async function doctorSays(rowId: string): Promise<string> {
      const { differences } = await condition.besideLedger({ limit: 2000, keysAreSubjects: true });
      const found = differences.filter(({ id }) => id === rowId);
      return judgeBeside({ compared: 1, differences: found }, undefined).status === 'failed' ? 'fails' : 'ok';
    }

    async function bundleSays(taskId: string): Promise<string> {
      const { code, err } = await runMandate(['audit-bundle', '--task', taskId], { ...fresh.settings, ...signing });
      return err.includes('Left out: the words') ? `${code}, without the words` : `${code}`;
    }

    const state =
      (assignment: string) =>
      ({ approvalId }: { readonly approvalId: string }) => [
        `update approvals set ${assignment} where approval_id = '${approvalId}'`,
      ];
    const ROWS: Readonly<Record<string, () => Promise<Outcome>>> = {
      Nothing: () => approvalAfter(() => []),
      ...Object.fromEntries(
        Object.entries(ALTERED_WORDS).map(([name, change]) => [`Approval: ${name}`, () => approvalAfter(change)]),
      ),
      'Approval: a yes that the person did not say': () =>
        approvalAfter(state("state = 'granted', decided_at = requested_at")),
      'Approval: another person': () => approvalAfter(state("sponsor_key = 'mallory'")),
      ...Object.fromEntries(
        Object.entries(alteredStates).map(([name, [before, assignment]]) => [
          `Approval: ${name}`,
          () => approvalAfter(state(assignment), before),
        ]),
      ),
      'Approval: a no, another line': () => approvalAfter(state("says = 'Go on'"), 'refused'),
      'Approval: a no, no line': () => approvalAfter(state('says = null, says_salt = null'), 'refused'),
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
      ...Object.fromEntries(
        Object.entries(alteredScopes).map(([name, assignment]) => [`Scope: ${name}`, () => scopeAfter(assignment)]),
      ),
    };

    const onPage = rowsOfPage('Done to a row beside the ledger');

    it('has exactly the rows that are tried here', () => {
      expect([...onPage.keys()]).to.deep.equal(Object.keys(ROWS));
    });

    for (const [name, outcome] of someOf(Object.entries(ROWS))) {
      it(`says what is answered, logged and verified: ${name}`, async () => {
        const before = mandate.log.lines.length;
        const { answers, taskId, rowId } = await outcome();
        const said = await consoleSays(taskId);
        const errors = mandate.log.lines.slice(before).filter((line) => line.includes('"level":"error"'));
        const logged = errors.length > 0 ? 'an error' : 'nothing';
        const verified = await verdict();
        const row = [name, ...answers, said, logged, await doctorSays(rowId), await bundleSays(taskId), verified];
        const line = `| ${row.join(' | ')} |`;
        expect(onPage.get(name), `the row has to be ${line}`).to.equal(line);
      });
    }

    /** What is answered by rows that no record describes. */
    const STATE: Readonly<Record<string, () => Promise<string>>> = {
      async 'A `status_index` of `tasks` moved'() {
        const { access_token: token, task_id: id } = (await agent.exchangeFor({ sub: `ada-${Math.random()}` })).body;
        await mandate.sql(`update tasks set status_index = status_index + 1 where task_id = '${id}'`);
        await mandate.admin('DELETE', `/admin/tasks/${id}`);
        const isInvalid = await isInvalidInList(mandate, String(token));
        const { active } = await mandate.introspect(String(token));
        return `an ended task: ${isInvalid ? 'invalid' : 'valid'} in the list, ${active ? 'active' : 'inactive'} at introspection`;
      },
      async 'A row of `sessions`: another operator'() {
        const other = await service.signedIn('responder');
        await mandate.sql("update sessions set sub = 'mallory' where sub = 'olga-responder'");
        const { status, text } = await other.open('/');
        return `the console answers ${status}, to ${text.includes('mallory') ? 'the other operator' : 'nobody'}`;
      },
      async 'A row of `spent_assertions` deleted'() {
        const form = agent.exchangeForm({ subject_token: agent.subjectToken({ sub: `ada-${Math.random()}` }) });
        const statuses: number[] = [];
        for (const statement of ['select 1', 'select 1', 'delete from spent_assertions']) {
          await mandate.sql(statement);
          statuses.push((await mandate.post('/oauth2/token', form)).status);
        }
        return `the same assertion: ${statuses.join(', then ')}`;
      },
      async 'A row of `accepted_signals` deleted'() {
        const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: `ada-${Math.random()}` }))
          .body;
        const request = jira.request(taskId);
        const answers: string[] = [];
        for (const statement of ['select 1', 'select 1', 'delete from accepted_signals']) {
          await mandate.sql(statement);
          const { status, body } = await asks(mandate, token, request);
          answers.push(`${status} ${body.error ?? body.state}`);
        }
        return `the same request for approval: ${answers.join(', then ')}`;
      },
      async 'A row of `approvals` deleted'() {
        const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: `ada-${Math.random()}` }))
          .body;
        const ask = async () => (await asks(mandate, token, jira.request(taskId))).body;
        const first = await ask();
        await mandate.answer(String(first.approval_id), 'approve');
        await mandate.sql(`delete from approvals where approval_id = '${first.approval_id}'`);
        const again = await ask();
        return `the yes is gone: ${again.approval_id === first.approval_id ? 'the same' : 'another'} question is ${again.state}`;
      },
      async 'A row of `revoked_tokens` deleted'() {
        const { access_token: token } = (await agent.exchangeFor({ sub: `ada-${Math.random()}` })).body;
        await agent.revoke(String(token));
        const before = (await mandate.introspect(String(token))).active;
        await mandate.sql('delete from revoked_tokens');
        const after = (await mandate.introspect(String(token))).active;
        return `a revoked token: ${before ? 'active' : 'inactive'}, then ${after ? 'active' : 'inactive'}`;
      },
      async 'A row of `status_lists` deleted'() {
        const { access_token: token } = (await agent.exchangeFor({ sub: `ada-${Math.random()}` })).body;
        const { uri } = JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()).status
          .status_list;
        await mandate.sql(`delete from status_lists where list_id = '${new URL(uri).pathname.split('/').at(-1)}'`);
        mandate.clock.advance(TTL);
        const { status } = await mandate.get(new URL(uri).pathname);
        const { active } = await mandate.introspect(String(token));
        return `the list answers ${status}; its tokens are ${active ? 'active' : 'inactive'} at introspection`;
      },
    };
    const onSecond = rowsOfPage('Done to a row that no record describes');

    it('has exactly the other rows that are tried here', () => {
      expect([...onSecond.keys()]).to.deep.equal(Object.keys(STATE));
    });

    for (const [name, outcome] of someOf(Object.entries(STATE))) {
      it(`says what is answered by rows that no record describes: ${name}`, async () => {
        const before = mandate.log.lines.length;
        const answered = await outcome();
        const errors = mandate.log.lines.slice(before).filter((line) => line.includes('"level":"error"'));
        const row = [name, answered, errors.length > 0 ? 'an error' : 'nothing', await verdict()];
        const line = `| ${row.join(' | ')} |`;
        expect(onSecond.get(name), `the row has to be ${line}`).to.equal(line);
      });
    }
  });
}
