/**
 * Counts the records that Postgres reads for a page of the ledger. If many records have a name, the planner prefers to
 * read the records of all names in the order of time, which can be the whole ledger.
 */

import { expect } from 'chai';
import pg from 'pg';
import { columnTypes } from '../../../../adapters/storage/postgres/column-types.ts';
import { postgresLedger } from '../../../../adapters/storage/postgres/ledger.ts';
import type { Run } from '../../../../adapters/storage/postgres/pool/pool.ts';
import type { LedgerPage, LedgerQuery } from '../../../../application/ports/ledger.ts';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { plusSeconds, toMicrosecondText } from '../../../../domain/instant.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/databases.ts';
import { agentIdOf, NOON } from '../../../support/domain-fixtures.ts';

/** One record a second. `NAMES` agents, persons and tasks follow each other in rotation. */
const RECORDS = 12_000;
const NAMES = 8;
const LIMIT = 10;
/** The maximum number of rows read for a page: the page, the next record, and a margin. */
const FEW = 2 * LIMIT;

const names = {
  agentId: agentIdOf('agent-0'),
  sponsor: 'person-0',
  taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTE0'),
  event: 'task.revoked' as const,
};
const MOST_READ = 500;
const second = (nth: number) => plusSeconds(NOON, nth);

describe('The ledger on Postgres', () => {
  let database: FreshDatabase;
  let client: pg.Client;

  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    const owner = await database.outside?.('owner');
    await owner?.sql(`insert into ledger (ts, event, audience, task_id, agent_id, sponsor, decision)
      select '${toMicrosecondText(NOON)}'::timestamptz + n * interval '1 second',
        case when n % ${NAMES} = 0 then 'task.revoked' else 'token.issued' end,
        'https://api-' || n % ${NAMES} || '.example',
        'task_01M31S7W68TMK7WDX8YKPSYTE' || n % ${NAMES}, 'agent-' || n % ${NAMES}, 'person-' || n % ${NAMES}, 'allow'
      from generate_series(0, ${RECORDS - 1}) n`);
    await owner?.sql('analyze ledger');
    await owner?.close();
    client = new pg.Client({
      connectionString: String(database.settings['Service:Database:ConnectionString']),
      types: columnTypes,
    });
    await client.connect();
    await client.query("set time zone 'UTC'; set datestyle to 'ISO'");
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  let sent: { readonly text: string; readonly values: unknown[] }[] = [];
  beforeEach(() => {
    sent = [];
  });
  const run: Run = async <Row>(query: Parameters<Run>[0], values: Parameters<Run>[1] = []) => {
    const config = { text: query.text, values: [...values] };
    sent.push(config);
    const result = await client.query(config);
    return { rows: result.rows as Row[], count: result.rowCount ?? 0 };
  };
  const transact = async (work: (run: Run) => unknown) => {
    await client.query('set local enable_seqscan = off; set local jit = off');
    return work(run);
  };
  const ledger = postgresLedger({ run, readTogether: transact } as never);

  async function read(query: Partial<LedgerQuery>): Promise<{ readonly page: LedgerPage; readonly rows: number }> {
    await client.query('begin');
    try {
      const before = await rowsRead();
      const page = await ledger.page({ limit: LIMIT, now: second(1_000_000), ...query });
      return { page, rows: (await rowsRead()) - before };
    } finally {
      await client.query('rollback');
    }
  }

  /** The lines of the query plan that say between which bounds Postgres reads the index. */
  async function indexConditions(query: Partial<LedgerQuery>): Promise<string> {
    await read(query);
    const [page = { text: '', values: [] }] = sent.filter(({ text }) => text.includes('from ledger '));
    const { rows } = await client.query({ ...page, text: `explain ${page.text}` });
    return rows
      .map((row) => row['QUERY PLAN'])
      .filter((line) => line.includes('Index Cond'))
      .join('\n');
  }

  /** The number includes earlier transactions that Postgres has not reported yet. */
  async function rowsRead(): Promise<number> {
    const { rows } = await client.query(`select sum(seq_tup_read + idx_tup_fetch)::integer as rows
      from pg_stat_xact_user_tables where relname like 'ledger_2%'`);
    return rows[0]?.rows;
  }

  /** For each page the time of its first record in seconds, and its query. */
  const pages: Readonly<Record<string, readonly [first: number, Partial<LedgerQuery>]>> = {
    'the first page': [0, {}],
    'the first page from an instant on': [8_000, { from: second(8_000) }],
    'the first page of a period': [8_000, { from: second(8_000), to: second(11_000) }],
    'the first page up to an instant': [0, { to: second(8_000) }],
    'the next page': [8_000, { after: { at: second(7_992), seq: 7_993 } }],
    'the next page of a period': [
      8_000,
      { from: second(400), to: second(11_000), after: { at: second(7_992), seq: 7_993 } },
    ],
  };
  for (const name of ['agentId', 'sponsor', 'taskId', 'event'] as const) {
    const mostRead = name === 'event' ? MOST_READ : undefined;
    for (const [which, [first, query]] of Object.entries(pages)) {
      it(`reads at most ${FEW} rows for a page of ${LIMIT} records by ${name}: ${which}`, async () => {
        const { page, rows } = await read({ [name]: names[name], mostRead, ...query });
        expect(page.records.map(({ at }) => at)).to.deep.equal(
          Array.from({ length: LIMIT }, (_, nth) => second(first + nth * NAMES)),
        );
        expect(rows).to.be.within(LIMIT, FEW);
      });
    }

    it(`reads at most ${FEW} rows for a page of ${LIMIT} records by ${name}, newest first, also for the next one`, async () => {
      const newest = { [name]: names[name], mostRead, newestFirst: true };
      const after = { at: second(8_000), seq: 8_001 };
      for (const [first, query] of [
        [RECORDS - NAMES, {}],
        [10_992, { to: second(11_000), from: second(400) }],
        [7_992, { after }],
        [7_992, { after, from: second(400), to: second(11_000) }],
      ] as const) {
        const { page, rows } = await read({ ...newest, ...query });
        expect(page.records.map(({ at }) => at)).to.deep.equal(
          Array.from({ length: LIMIT }, (_, nth) => second(first - nth * NAMES)),
        );
        expect(rows).to.be.within(LIMIT, FEW);
      }
    });

    // Without the bounds, Postgres before 18 would read all records of the name in the month. Postgres 18 skips them.
    it(`reads the index by ${name} only from the beginning to the end of a period`, async () => {
      const conditions = await indexConditions({
        [name]: names[name],
        mostRead,
        from: second(8_000),
        to: second(11_000),
      });
      expect(conditions).to.match(/ROW\(\w+, ts\) >= ROW\(/);
      expect(conditions).to.match(/ROW\(\w+, ts\) < ROW\(/);
    });
  }

  const searches: Readonly<Record<string, Partial<LedgerQuery>>> = {
    'an audience': { audience: 'https://api-1.example' },
    'the event of most records': { event: 'token.issued' },
    'an audience, of an agent': { audience: 'https://api-0.example', agentId: names.agentId },
  };
  for (const [what, query] of Object.entries(searches)) {
    it(`reads no more rows than it finds a page of ${LIMIT} records by ${what} among`, async () => {
      const { page, rows } = await read({ ...query, mostRead: MOST_READ });
      expect(page.records).to.have.length(LIMIT);
      expect(rows).to.be.within(LIMIT, FEW + LIMIT * NAMES);
    });
  }

  const vain: Readonly<Record<string, Partial<LedgerQuery>>> = {
    'an audience': { audience: 'https://nobody.example' },
    'an audience of a person': { audience: 'https://nobody.example', sponsor: names.sponsor },
    'an event of an agent': { event: 'agent.deleted', agentId: names.agentId },
  };
  for (const [what, query] of Object.entries(vain)) {
    it(`reads at most ${MOST_READ} rows for a page by ${what} that no record has, and says where the next one continues`, async () => {
      const { page, rows } = await read({ ...query, mostRead: MOST_READ });
      expect(page.records).to.deep.equal([]);
      const every = 'sponsor' in query || 'agentId' in query ? NAMES : 1;
      expect(page.next).to.deep.equal({ at: second((MOST_READ - 1) * every), seq: (MOST_READ - 1) * every + 1 });
      expect(rows).to.be.within(MOST_READ, MOST_READ + 1);
    });
  }
});
