import { expect } from 'chai';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import { postgres, sqlite } from '../../adapters/storage/dialect.ts';
import { BEGIN } from '../../adapters/storage/postgres/pool/transactions.ts';
import { listActs } from '../../adapters/storage/queries/acts.ts';
import { recordAct } from '../../application/decisions/operator-act.ts';
import type { ActsQuestion } from '../../application/ports/acts.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { saltedText } from '../../domain/ledger/sealed-text.ts';
import type { OperatorAct } from '../../domain/operators/operator-act.ts';
import type { OutsideConnection } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { literalText } from '../support/literal-text.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { saltOf } from './storage-fixtures.ts';

const ACTS = 5000;
const LIMIT = 10;
/**
 * The most acts that can have begun while another one was under way: this many are read to find those about a record.
 */
const BEGUN_MEANWHILE = 1000;
const ERASED_AT_ONCE = 7;

const act = (nth: number): OperatorAct => ({
  operator: { kind: 'person', issuer: 'https://idp.example', subject: `rita-${nth}`, sponsorKey: undefined, roles: [] },
  role: 'responder',
  route: 'DELETE /admin/tasks/{task_id}',
  reason: `Incident ${nth}`,
  at: plusSeconds(NOON, nth),
  sealed: { salt: saltOf(`salt-${nth}`), hash: sha256(saltedText(saltOf(`salt-${nth}`), `Incident ${nth}`)) },
});

onEveryDatabase('acts of operators', ({ storage, kind, outside }) => {
  const queries: Readonly<Record<string, readonly [question: Omit<ActsQuestion, 'limit'>, most: number]>> = {
    'the newest acts': [{}, LIMIT],
    'the acts before one': [{ before: ACTS / 2 }, LIMIT],
    'the acts of a person': [{ subject: 'olga-1' }, LIMIT],
    'the acts of a person before one': [{ subject: 'olga-1', before: ACTS / 2 }, LIMIT],
    'the acts of a record': [{ seq: ACTS / 2 }, BEGUN_MEANWHILE],
    'the acts of a record, of a person': [{ seq: ACTS / 2, subject: 'olga-1' }, BEGUN_MEANWHILE],
  };

  before(async () => {
    const sql = await outside('owner');
    const rows =
      kind.engine === 'postgres'
        ? `select n + 1000, n + 999, 'i', 'olga-' || (n % 3), 'r', 'a', 'x', 's', 'epoch' from generate_series(1, ${ACTS}) n`
        : `with recursive s (n) as (select 1 union all select n + 1 from s where n < ${ACTS})
            select n + 1000, n + 999, 'i', 'olga-' || (n % 3), 'r', 'a', 'x', 's', 0 from s`;
    await sql.sql(`insert into operator_acts (seq, explains, iss, sub, role, act, reason, salt, at) ${rows}`);
  });

  for (const [what, [question, most]] of Object.entries(queries)) {
    it(`read at most ${most} rows at once for a page of ${what}, beside ${ACTS} acts`, async () => {
      const found = await storage().operatorActs.list({ ...question, limit: LIMIT });
      expect(found.length).to.be.within(1, LIMIT);
      const seqs = found.map(({ row }) => row.seq);
      expect(seqs).to.deep.equal(seqs.toSorted((a, b) => b - a));
      expect(await rowsRead(await outside('owner'), { ...question, limit: LIMIT })).to.be.at.most(most);
    });
  }

  /** The most rows that a step of the plan reads. SQLite does not count rows: a scan of the table counts as all. */
  async function rowsRead({ sql }: OutsideConnection, question: ActsQuestion): Promise<number> {
    if (kind.engine === 'sqlite') {
      const plan = await sql(`explain query plan ${literalText(listActs, question, sqlite)}`);
      const steps = plan.map(({ detail }) => String(detail)).filter((step) => /operator_acts/.test(step));
      // All acts are read in the order of their numbers, which needs no other index.
      const isFiltered = question.subject !== undefined || question.before !== undefined || question.seq !== undefined;
      const isOrdered = (step: string) => /^SEARCH/.test(step) || !isFiltered;
      const sorts =
        plan.some(({ detail }) => /TEMP B-TREE FOR ORDER/.test(String(detail))) && question.seq === undefined;
      return steps.every(isOrdered) && !sorts ? 0 : ACTS;
    }
    await sql(`${BEGIN}; set local enable_bitmapscan = off`);
    const [row] = await sql(`explain (analyze, format json) ${literalText(listActs, question, postgres)}`);
    await sql('rollback');
    const steps = JSON.stringify(row?.['QUERY PLAN']).matchAll(/"(?:Actual Rows|Rows Removed by Filter)":([\d.]+)/g);
    return Math.max(...[...steps].map(([, rows]) => Number(rows)));
  }

  it('erase a limited number of reasons at once, oldest first, and only those of old acts', async () => {
    for (const nth of [1, 2]) await storage().decide(recordAct, act(nth));
    const acted = async () => {
      const found = [1, 2].map((nth) => storage().operatorActs.list({ subject: `rita-${nth}`, limit: 2 }));
      return (await Promise.all(found)).flat().map(({ row }) => [row.reason, row.salt]);
    };
    const before = plusSeconds(NOON, 1);
    expect(await storage().sweeping.eraseReasons(before, ERASED_AT_ONCE)).to.equal(ERASED_AT_ONCE);
    expect(await acted()).to.deep.equal([
      ['Incident 1', saltOf('salt-1')],
      ['Incident 2', saltOf('salt-2')],
    ]);
    let erased = ERASED_AT_ONCE;
    for (let more = 1; more > 0; erased += more) more = await storage().sweeping.eraseReasons(before, ACTS);
    expect(erased).to.equal(ACTS + 1);
    expect(await acted()).to.deep.equal([
      [undefined, undefined],
      ['Incident 2', saltOf('salt-2')],
    ]);
  });
});
