import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { migratePostgres } from '../../../../../adapters/storage/postgres/apply-migrations.ts';
import { openPostgresArchives } from '../../../../../adapters/storage/postgres/archives.ts';
import { openPostgresCondition } from '../../../../../adapters/storage/postgres/condition.ts';
import { hostsOf } from '../../../../../adapters/storage/postgres/connection-string.ts';
import { LIMITS } from '../../../../../adapters/storage/postgres/limits.ts';
import { openPostgresLedger } from '../../../../../adapters/storage/postgres/open-ledger.ts';
import { hosts, primaryOf } from '../../../../../adapters/storage/postgres/pool/hosts.ts';
import { type Connections, openConnections } from '../../../../../adapters/storage/postgres/pool/pool.ts';
import { runCommand } from '../../../../../composition/commands/run-command.ts';
import { freePort } from '../../../../../scripts/free-port.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { capturingOutput } from '../../../../support/captured-output.ts';
import { type FreshDatabase, freshDatabase, TENFOLD_LIMITS } from '../../../../support/databases.ts';
import { NOON } from '../../../../support/domain-fixtures.ts';
import { listen } from '../../../../support/listening.ts';
import { openPostgres } from '../../../../support/open-postgres.ts';
import { type RunningPostgres, SUPERUSER, startPostgresServer } from '../../../../support/postgres-server.ts';
import { thrownBy } from '../../../../support/thrown-by.ts';

describe('the hosts of all pools', () => {
  it('move on once for all calls that failed on one host, and after the last to the first', () => {
    const known = hosts(['a', 'b', 'c']);
    expect([known.count, known.current()]).to.deep.equal([3, 'a']);
    const seen = ['a', 'a', 'c', 'b', 'a', 'c', 'a'].map((failed) => {
      known.failed(failed);
      return known.current();
    });
    expect(seen.join('')).to.equal('bbbccab');
  });

  it('stay with the only one', () => {
    const known = hosts(['a']);
    known.failed('a');
    expect(known.current()).to.equal('a');
  });
});

describe('several hosts in a connection string', function () {
  this.timeout(120_000);
  let other: RunningPostgres;
  let database: FreshDatabase;
  let dead: number;
  before(async () => {
    other = await startPostgresServer();
    dead = await freePort();
    database = await freshDatabase('postgres', 'absent');
    const name = new URL(String(database.settings['Service:Database:ConnectionString'])).pathname.slice(1);
    await onOther('create role mandate_owner login');
    await onOther('create role mandate_app login');
    await onOther('create role known_to_the_standby login');
    await onOther(`create database ${name} owner mandate_owner`);
  });
  after(async () => {
    await database.drop();
    await other.stop();
  });

  async function onOther(statement: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: other.server.url(SUPERUSER, 'postgres') });
    await client.connect();
    const { rows } = await client.query(statement);
    await client.end();
    return rows;
  }

  const portOfMain = () => Number(new URL(String(database.settings['Service:Database:ConnectionString'])).port);

  /** The address of the database on these ports. */
  function across(ports: readonly number[], of: 'ConnectionString' | 'MigrationConnectionString' = 'ConnectionString') {
    const uri = String(database.settings[`Service:Database:${of}`]);
    const list = ports.map((port) => `127.0.0.1:${port}`).join();
    return `${uri.replace(/127\.0\.0\.1:\d+/, list)}?target_session_attrs=read-write`;
  }

  const portsOf = (uri: string) => hostsOf(uri).map((host) => Number(new URL(host).port));

  it('are tried in order by each pool, and a call that fails before its work goes on to the next host', async () => {
    const known = hosts(hostsOf(across([other.server.port, dead, portOfMain()])));
    const open = () =>
      openConnections({ connectionString: known, poolSize: 2, limits: TENFOLD_LIMITS.serving }, capturedLog());
    const [one, two] = [open(), open()];
    const port = async ({ run }: Connections) =>
      (await run<{ port: number }>({ name: 'port', text: 'select inet_server_port() as port' })).rows[0]?.port;
    expect(await port(one)).to.equal(other.server.port);
    await other.halt('fast');
    // Both pools move on to the next host but one.
    expect(await Promise.all([port(one), port(two)])).to.deep.equal([portOfMain(), portOfMain()]);
    expect(known.current()).to.equal(hostsOf(across([portOfMain()]))[0]);
    await Promise.all([one.close(), two.close()]);
    const lost = openConnections(
      { connectionString: hosts(hostsOf(across([dead, other.server.port]))), poolSize: 1, limits: LIMITS.serving },
      capturedLog(),
    );
    expect(await thrownBy(port(lost))).to.include({ name: 'StorageUnavailable' });
    await lost.close();
    await other.start();
  });

  it('share the limit for connecting, and leave the whole limit to a call that waits for a busy connection', async () => {
    const silent = createServer();
    const uri = across([await listen(silent), portOfMain()]);
    const limits = { ...LIMITS.serving, acquire: 2_000 };
    const pool = { connectionString: hosts(hostsOf(uri)), poolSize: 1, limits };
    const { run, close } = openConnections(pool, capturedLog());
    // The silent host takes one second, the other one answers.
    await run({ name: 'alone', text: 'select 1' });
    const busy = run({ name: 'busy', text: 'select pg_sleep(1.4)' });
    expect((await run({ name: 'alone', text: 'select 1' })).count).to.equal(1);
    await busy;
    await close();
    silent.close();
  });

  it('are refused by commands if two of them are primaries', async () => {
    const uri = across([other.server.port, portOfMain()]);
    expect(await thrownBy(primaryOf(uri, 'serving'))).to.include({ reason: 'several_primaries', role: 'serving' });
  });

  it('are asked for the primary by migrate, by audit commands and by doctor', async () => {
    const [{ data_directory: data } = {}] = await onOther('show data_directory');
    await other.halt('fast');
    // A server with this file stays in recovery, as a standby does whose primary is away.
    writeFileSync(join(String(data), 'standby.signal'), '');
    await other.start();
    const ports = [dead, other.server.port, portOfMain()];
    const primary = await primaryOf(across(ports), 'serving');
    expect(portsOf(primary)).to.deep.equal([portOfMain()]);

    const owning = across(ports, 'MigrationConnectionString');
    const migration = { connectionString: owning, servingRole: 'mandate_app', now: NOON, monthsAhead: 0 };
    expect(await migratePostgres(migration)).to.deep.equal(['0001-schema']);
    const log = capturedLog();
    const ledger = await openPostgresLedger(across(ports), log);
    expect(await ledger.schemaStatus()).to.equal('current');
    await ledger.close();
    const archives = await openPostgresArchives(owning, log);
    expect(await archives.isOwner()).to.equal(true);
    await archives.close();
    const condition = await openPostgresCondition(across(ports), log);
    expect(await condition.server()).to.match(/^Postgres \d/);
    expect(await condition.schema()).to.equal('current');
    await condition.close();
  });

  it('lead the service, and the command after a restore, past a dead server and a standby to the primary', async () => {
    const ports = [other.server.port, dead, portOfMain()];
    const addresses = {
      connectionString: across(ports),
      migrationConnectionString: across(ports, 'MigrationConnectionString'),
      limits: TENFOLD_LIMITS,
    };
    const storage = await openPostgres(addresses, { clock: { now: () => NOON }, log: capturedLog() });
    expect(await storage.schemaStatus()).to.equal('current');
    expect(await storage.migrate()).to.deep.equal([]);
    const restored = await storage.afterRestore({ at: NOON, latest: NOON, above: 0 });
    expect(restored).to.deep.equal({ kind: 'moved', from: 0, to: 1_000_000 });
    await storage.close();
  });

  it('let migrate name the reason and the cure if its serving connection leads to a standby', async () => {
    const log = capturedLog();
    const storage = await openPostgres(
      { connectionString: across([dead, other.server.port]) },
      { clock: { now: () => NOON }, log },
    );
    const { result, err } = await capturingOutput(() => runCommand(async () => (await storage.migrate()).length));
    await storage.close();
    expect([result, err]).to.deep.equal([
      1,
      'mandate: Its address leads to a standby, from which nothing is read (NOT_PRIMARY): let the address name the primary, and see docs/high-availability.md.\n',
    ]);
  });

  it('make a command stop, and name the reason, if no host is the primary, no host admits the role, or no host answers', async () => {
    const standby = across([dead, other.server.port]);
    expect(await thrownBy(primaryOf(standby, 'migrating'))).to.include({ reason: 'no_primary', role: 'migrating' });
    const condition = await openPostgresCondition(standby, capturedLog());
    expect(await thrownBy(condition.server())).to.include({ reason: 'no_primary', role: 'serving' });
    await condition.close();
    const stranger = across([dead, other.server.port, portOfMain()]).replace('mandate_app@', 'known_to_the_standby@');
    expect(await thrownBy(primaryOf(stranger, 'serving'))).to.include({ reason: 'role_not_let_in' });
    const gone = await thrownBy(primaryOf(across([dead, await freePort()]), 'serving'));
    expect(gone).to.include({ name: 'StorageUnavailable' });
    expect((gone as Error).cause).to.include({ code: 'ECONNREFUSED' });
  });
});
