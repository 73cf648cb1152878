/**
 * A move to another server by logical replication, under load: it copies no sequences, so the ledger's sequence begins anew there.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { capturedLog } from '../../../support/captured-log.ts';
import { eventually } from '../../../support/eventually.ts';
import { movedClock } from '../../../support/moved-clock.ts';
import { openPostgres } from '../../../support/open-postgres.ts';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../../../support/postgres-server.ts';
import { startLoad } from './load.ts';
import { startWorld, type World } from './world.ts';

/** Rows of these exist on the other server after `mandate migrate`. */
const NOT_COPIED = "'outbox_queueing', 'schema_migrations', 'schema_migrations_lock'";

describe('A move to another server that copies no sequences', function () {
  this.timeout(120_000);
  let world: World;
  let target: RunningPostgres;
  let log: ReturnType<typeof capturedLog>;
  beforeEach(async () => {
    world = await startWorld({ synchronous: 'off', primaryOptions: { wal_level: 'logical' } });
    target = await startPostgresServer({ maxConnections: 100 });
    log = capturedLog();
  });
  afterEach(async () => {
    await world.stop();
    await target.stop();
  });

  const onTarget = async (text: string, database = 'mandate') => {
    const client = new pg.Client({ connectionString: target.server.url(SUPERUSER, database) });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };
  const readyz = async () => (await world.mandate.get('/readyz', { accept: 'application/json' })).text;

  /** Creates the schema on the other server, and copies all rows to it until both are equal. */
  async function replicate(): Promise<void> {
    await onTarget('create role owning login', 'postgres');
    await onTarget('create role serving login', 'postgres');
    await onTarget('create database mandate owner owning', 'postgres');
    const storage = await openPostgres(
      {
        connectionString: target.server.url('serving', 'mandate'),
        migrationConnectionString: target.server.url('owning', 'mandate'),
      },
      { clock: movedClock(), log },
    );
    await storage.migrate();
    await storage.close();
    const { primary } = world.pair;
    const [tables] = await world.ask(
      primary,
      `select string_agg(c.oid::regclass::text, ', ') as names from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'public' and relkind in ('r', 'p') and not relispartition and relname not in (${NOT_COPIED})`,
    );
    const publish = `create publication moved for table ${String(tables?.names)} with (publish_via_partition_root = true)`;
    await world.ask(primary, publish);
    const from = `host=127.0.0.1 port=${primary.server.port} user=${SUPERUSER} dbname=mandate`;
    await onTarget(`create subscription moved connection '${from}' publication moved`);
  }

  async function caughtUp(): Promise<void> {
    const count = 'select count(*)::integer as records from ledger';
    await eventually(async () => {
      const [here] = await world.ask(world.pair.primary, count);
      const [there] = await onTarget(count);
      return here?.records === there?.records;
    }, 50);
  }

  for (const remedy of ['setval', 'nothing'] as const) {
    it(`uses no number twice, and loses nothing, whether the owner runs setval or not: ${remedy}`, async () => {
      const { mandate, pair, proxy } = world;
      const load = startLoad(world);
      await eventually(() => load.count('exchange', 200) > 10);
      await mandate.jobs.seal();
      await replicate();
      // Records that no checkpoint has yet.
      const more = load.count('exchange', 200) + 10;
      await eventually(() => load.count('exchange', 200) > more);
      proxy.lead();
      proxy.endSessions();
      await pause(500);
      await caughtUp();
      await onTarget('drop subscription moved');
      proxy.lead(target.server.port);
      await eventually(async () => (await readyz()).includes('ledger_seq was set back'), 20);
      if (remedy === 'setval') {
        const [, statement = ''] = /`(select pg_catalog\.setval\(.*?)`/.exec(await readyz()) ?? [];
        await onTarget(statement);
      }
      const before = load.count('exchange', 200);
      await eventually(() => load.count('exchange', 200) > before + 20);
      await load.stop();
      expect(await load.faults({ ...pair.primary, server: target.server })).to.deep.equal([]);
      const [row] = await onTarget('select count(*) as records, count(distinct seq) as numbers from ledger');
      expect(row.records).to.equal(row.numbers);
      await world.sealAndVerify();
      expect((await mandate.untilReady()).text).to.equal('Healthy');
    });
  }
});
