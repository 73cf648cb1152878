import { expect } from 'chai';
import { DRAINING_LIMITS, SERVING_LIMITS } from '../../../../adapters/storage/postgres/limits.ts';
import { openConnections } from '../../../../adapters/storage/postgres/pool/pool.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import type { LedgerRecord } from '../../../../domain/ledger/record.ts';
import { anEntry, ledgerOf } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { type FreshDatabase, freshDatabase, type OutsideConnection } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { openPostgres } from '../../../support/open-postgres.ts';
import { type Storage, withMethods } from '../../../support/storage.ts';

describe('draining the outbox on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  let owner: OutsideConnection;
  const log = capturedLog();
  beforeEach(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    storage = withMethods(
      await openPostgres(
        { connectionString: String(database.settings['Service:Database:ConnectionString']), poolSize: 1 },
        { clock: { now: () => NOON }, log },
      ),
    );
    if (database.outside === undefined) throw new Error('Postgres cannot be reached from outside');
    owner = await database.outside('superuser');
    await storage.outbox.setQueueing(true);
    for (const detail of ['1', '2']) await append(detail);
  });
  afterEach(async () => {
    await owner.close();
    await storage.close();
    await database.drop();
  });

  const append = (detail: string, days = 0) =>
    storage.ledger.append(anEntry('admin.denied', { at: plusSeconds(NOON, days * 86_400), detail }));
  const drain = (deliver: (records: readonly LedgerRecord[]) => Promise<boolean>) =>
    storage.outbox.drain({ now: NOON, limit: 100 }, deliver);
  const drained = async () => {
    const details: unknown[] = [];
    await drain(async (records) => details.push(...records.map((record) => record.detail)) > 0);
    return details;
  };

  it('uses no connection for requests and no lock on the ledger while it waits for the sink', async () => {
    const outcome = await drain(async () => {
      expect(await ledgerOf(storage)).to.have.length(2);
      await owner.sql('begin');
      await owner.sql('lock table ledger in access exclusive mode nowait');
      await owner.sql('rollback');
      return true;
    });
    expect(outcome).to.deep.equal({ kind: 'delivered', count: 2 });
  });

  it('may keep its transaction idle for twice the time limit of the sink, other transactions only for that limit', async () => {
    const SINK_LIMIT_SECONDS = 10;
    for (const [limits, seconds] of [
      [SERVING_LIMITS, SINK_LIMIT_SECONDS],
      [DRAINING_LIMITS, 2 * SINK_LIMIT_SECONDS],
    ] as const) {
      const connectionString = String(database.settings['Service:Database:ConnectionString']);
      const connections = openConnections({ connectionString, poolSize: 1, limits }, log);
      const idle = { name: 'idle', text: "select current_setting('idle_in_transaction_session_timeout') as idle" };
      expect((await connections.run(idle)).rows).to.deep.equal([{ idle: `${seconds}s` }]);
      await connections.close();
    }
  });

  it('leaves a batch due if its connection is lost while it waits for the sink', async () => {
    const thrown = await drain(async () => {
      await owner.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
      );
      return true;
    }).catch((error: unknown) => error);
    expect(thrown).to.have.property('name', 'StorageUnavailable');
    expect(await drained()).to.deep.equal(['1', '2']);
    expect(await drained()).to.deep.equal([]);
  });

  it('warns if a month was archived before the sink took its records, and delivers the others', async () => {
    await append('next month', 31);
    await owner.sql('drop table ledger_2026_09');
    expect(await drained()).to.deep.equal(['next month']);
    const warnings = log.lines.map((line) => JSON.parse(line)).filter(({ records }) => records !== undefined);
    expect(warnings.map(({ level, records }) => [level, records])).to.deep.equal([['warn', 2]]);
    expect(await owner.sql('select * from outbox')).to.deep.equal([]);
  });
});
