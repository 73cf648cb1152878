/**
 * Whatever SQL an owner of the database runs, on any table: while the records of the ledger are those that were appended, no
 * question is shown, answered or used that differs from what was asked, and no purpose or reason that differs from what was stated.
 */

import { expect } from 'chai';
import { parseApprovalId, parseTaskId } from '../../../domain/identifiers.ts';
import { canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { runMandate } from '../../support/cli-run.ts';
import { connectOutside, databases, type FreshDatabase, type OutsideConnection } from '../../support/databases.ts';
import { appendRecord } from '../../support/ledger/forged-archiving.ts';
import { type OwnedTables, ownedTables, type Random } from '../../support/ledger/owner-sql.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import { seeded } from '../../support/ledger/tampering.ts';
import { byLength } from '../../support/length.ts';
import { JIRA, type Mandate, startMandate } from '../../support/mandate.ts';
import type { Storage } from '../../support/storage.ts';
import { approvalSettings, askingServer, asks, digestOf } from '../../support/tool-server/approval-request.ts';

const ROUNDS = { sqlite: byLength({ short: 12, full: 2000 }), postgres: byLength({ short: 12, full: 500 }) };
/** At full length a month was archived, and in some rounds bundles are made. */
const IS_LONG = byLength({ short: false, full: true });
const BUNDLES_EVERY = 20;
const CHANGED = [
  [
    'approvals',
    ['approval_id', 'task_id', 'sponsor_key', 'digest', 'commitment', 'salt', 'title', 'title', 'lines', 'state'],
  ],
  ['task_purposes', ['task_id', 'purpose', 'salt']],
] as const;
/** Nothing was stored then. */
const ARCHIVED = '{"partition":"ledger_2020_01","checkpoints":null,"sequence":null,"before":[]}';
const ROWS = ['approvals', 'tasks', 'task_purposes', 'operator_acts'];

for (const database of databases) {
  describe(`Random SQL of an owner of ${database.name}, on rows beside the ledger`, function () {
    this.timeout(3_600_000);
    let mandate: Mandate;
    let fresh: FreshDatabase;
    let outside: OutsideConnection;
    let tables: OwnedTables;
    let original: Shown;
    let records: string;
    let bundled: ReadonlySet<string>;
    let signing: Readonly<Record<string, string>>;
    const ids: string[] = [];
    const tasks: string[] = [];
    before(async () => {
      fresh = await database.fresh();
      signing = { 'Service:Signing:Keys:0:Pem': (await makeSealingKey()).pem };
      const jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      mandate = await startMandate({
        database: { ...database, fresh: async () => ({ ...fresh, drop: async () => undefined }) },
        settings: {
          'Service:Me:ClientId': 'the-page',
          'Service:Tasks:Purpose': 'accept',
          ...approvalSettings(jira),
          ...signing,
        },
      });
      const agent = await mandate.agent();
      for (const [nth, answer] of ([undefined, 'approve', 'refuse', 'used'] as const).entries()) {
        const form = { purpose: `Purpose ${nth}` };
        const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: `ada-${nth}` }, form)).body;
        tasks.push(String(taskId));
        for (const what of ['pay', 'delete']) {
          const ask = () =>
            asks(mandate, token, jira.request(taskId, { digest: digestOf(what), title: `${what} ${nth}` }));
          const id = String((await ask()).body.approval_id);
          ids.push(id);
          if (answer !== undefined) await mandate.answer(id, answer === 'refuse' ? 'refuse' : 'approve');
          if (answer === 'used') expect((await ask()).body.state).to.equal('granted');
        }
      }
      if (IS_LONG) await appendRecord(mandate, 'audit.archived', ARCHIVED);
      await mandate.jobs.seal();
      await mandate.stop();
      outside = await connectOutside(fresh, database.engine === 'postgres' ? 'superuser' : undefined);
      [original, records] = await opened(
        async (storage) => [await shownBy(storage), await recordsOf(storage)] as const,
      );
      bundled = new Set(IS_LONG ? await bundledLines() : []);
      tables = await ownedTables(outside, database.engine, ROWS);
    });
    after(async () => {
      await outside.close();
      await fresh.drop();
    });

    type Shown = ReadonlyMap<string, string>;

    async function opened<Answer>(read: (storage: Storage) => Promise<Answer>): Promise<Answer> {
      const storage = await fresh.open();
      try {
        return await read(storage);
      } finally {
        await storage.close();
      }
    }

    /** What readers of each row get to see: nothing if it differs. */
    async function shownBy({ approvals, tasks: stored }: Storage): Promise<Shown> {
      const shown = new Map<string, string>();
      for (const id of ids) {
        const found = await approvals.find(parseApprovalId(id) as never);
        if (found?.kind !== 'same') continue;
        const { title, lines, taskId, digest, commitment, sponsor, agentId, audience, state } = found.row;
        // The key is compared with `sponsor` by the use case, because the settings say what it is.
        const person = found.row.sponsorKey === sponsor ? sponsor : 'nobody';
        if (person === 'nobody') continue;
        shown.set(id, JSON.stringify([title, lines, taskId, digest, commitment, person, agentId, audience, state]));
      }
      for (const id of tasks) {
        const found = await stored.findListed(parseTaskId(id) as never, mandate.clock.now()).catch(() => undefined);
        if (found?.purpose !== undefined) shown.set(id, JSON.stringify(found.purpose));
      }
      return shown;
    }

    /** The lines of the bundles of all tasks that have a record. An approval that was asked for has its words there. */
    async function bundledLines(): Promise<readonly string[]> {
      const lines: string[] = [];
      for (const id of tasks) {
        const { out } = await runMandate(['audit-bundle', '--task', id], { ...fresh.settings, ...signing });
        lines.push(...out.split(/,?\n/).filter((line) => line.includes('"words":')));
      }
      return lines;
    }

    /** Changes of one column: another text, or that of another row. */
    async function changeRow(random: Random): Promise<readonly string[]> {
      const [table, columns] = CHANGED[random(CHANGED.length)] ?? CHANGED[0];
      const column = columns[random(columns.length)] ?? columns[0];
      const other = `(select ${column} from ${table} order by 1 limit 1 offset ${random(8)})`;
      const place = `(select ${columns[0]} from ${table} order by 1 limit 1 offset ${random(8)})`;
      const value = random(2) === 0 ? `${column} || '~'` : other;
      const statement = `update ${table} set ${column} = ${value} where ${columns[0]} = ${place}`;
      // A constraint or a type may refuse it.
      return outside.sql(statement).then(
        () => [statement],
        () => [],
      );
    }

    async function recordsOf({ checkpoints }: Storage): Promise<string> {
      const range = { firstSeq: 1, lastSeq: Number.MAX_SAFE_INTEGER };
      const found = await checkpoints.records(range, 0, 1000).catch(() => []);
      return found.map((record) => `${record.seq} ${canonicalRecord(record)}`).join('\n');
    }

    it(`shows what was asked or nothing, in ${ROUNDS[database.engine]} rounds`, async () => {
      expect(original.size).to.equal(ids.length + tasks.length);
      if (IS_LONG) expect(bundled.size, 'words in bundles').to.equal(ids.length);
      const random = seeded(20_261_129);
      let hidden = 0;
      let same = 0;
      for (let round = 0; round < ROUNDS[database.engine]; round += 1) {
        const statements = random(3) === 0 ? await tables.change(random) : await changeRow(random);
        const [shown, held] = await opened(
          async (storage) => [await shownBy(storage), await recordsOf(storage)] as const,
        );
        if (held === records) {
          for (const [id, text] of shown) {
            if (text === original.get(id)) continue;
            throw new Error(`${id} is shown as ${text}, in round ${round} after:\n${statements.join(';\n')}`);
          }
          if (IS_LONG && round % BUNDLES_EVERY === 0) {
            for (const line of await bundledLines()) {
              if (bundled.has(line)) continue;
              throw new Error(`a bundle has ${line}, in round ${round} after:\n${statements.join(';\n')}`);
            }
          }
          if (shown.size < original.size) hidden += 1;
          else same += 1;
        }
        await tables.restore();
      }
      expect(hidden, 'rounds in which something was hidden').to.be.greaterThan(0);
      expect(same, 'rounds in which nothing was').to.be.greaterThan(0);
    });
  });
}
