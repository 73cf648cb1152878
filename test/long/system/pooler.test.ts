/** PgBouncer, which in transaction mode gives one session of Postgres to several clients. */

import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ledgerMemory } from '../../../adapters/storage/ledger-memory.ts';
import { type Connections, openConnections } from '../../../adapters/storage/postgres/pool/pool.ts';
import { knownPrimary } from '../../../adapters/storage/postgres/pool/primary.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { runCommand, startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, freshDatabase, TENFOLD_LIMITS } from '../../support/databases.ts';
import { pgbouncerIsInstalled, startPgbouncer } from '../../support/pgbouncer.ts';

const SERVING = 'Service:Database:ConnectionString';
const MIGRATING = 'Service:Database:MigrationConnectionString';
const REFUSAL = /pooler that gives one session to several clients \(transaction mode\)/;

const PID = { name: 'pid', text: 'select pg_backend_pid() as pid' };

const good = {
  'Service:Issuer': 'https://mandate.test',
  'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
  'Service:UpstreamIdp:Audience': 'https://mandate.test',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  'Service:Admin:ApiKey': 'an-admin-key-0123456789-0123456789-0123456789',
  NODE_ENV: 'development',
  PORT: '0',
};

describe('Behind PgBouncer', function () {
  this.timeout(120_000);
  if (!pgbouncerIsInstalled()) {
    it('is skipped: /usr/sbin/pgbouncer is not installed', function () {
      this.skip();
    });
    return;
  }
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshDatabase('postgres', 'absent');
  });
  afterEach(() => database.drop());

  async function behind(mode: 'transaction' | 'session', more: Readonly<Record<string, number>> = {}) {
    const [serving = '', migrating = ''] = [database.settings[SERVING], database.settings[MIGRATING]];
    const roles = [serving, migrating].map((uri) => new URL(uri).username);
    const pooler = await startPgbouncer(mode, Number(new URL(serving).port), roles, more);
    const settings = { ...good, ...database.settings, [SERVING]: pooler.through(serving) };
    return { pooler, settings, migrating: pooler.through(migrating) };
  }

  it('in transaction mode, migrate, serve and doctor refuse the pooler, and migrate makes no schema', async () => {
    const { pooler, settings, migrating } = await behind('transaction');
    try {
      const direct = { ...good, ...database.settings };
      for (const changes of [
        {},
        { [MIGRATING]: migrating },
        { [SERVING]: database.settings[SERVING], [MIGRATING]: migrating },
      ]) {
        const { code, err } = await runCommand(['migrate'], { ...settings, ...changes });
        expect([code, REFUSAL.test(err)], err).to.deep.equal([1, true]);
      }
      expect((await runCommand(['serve'], direct)).err).to.include('The database schema is not there');
      expect((await runCommand(['migrate'], direct)).code).to.equal(0);
      const serve = await runCommand(['serve'], settings);
      expect([serve.code, REFUSAL.test(serve.err)], serve.err).to.deep.equal([1, true]);
      const doctor = await runCommand(['doctor'], settings);
      expect([doctor.code, REFUSAL.test(doctor.out)], doctor.out).to.deep.equal([3, true]);
    } finally {
      await pooler.close();
    }
  });

  it('in session mode, migrate and serve work', async () => {
    const { pooler, settings, migrating } = await behind('session');
    try {
      expect(await runCommand(['migrate'], { ...settings, [MIGRATING]: migrating })).to.include({ code: 0, err: '' });
      const serving = startCommand(['serve'], settings);
      await serving.said('"listening"');
      serving.child.kill('SIGTERM');
      expect((await serving.ended).code).to.equal(0);
    } finally {
      await pooler.close();
    }
  });

  const pool = (pooled: string, lifetimeMs = 60_000) => {
    const log = capturedLog();
    const primary = knownPrimary(ledgerMemory(), log);
    const serving = { primary, lifetimeMs, keepsOne: true, mostUnanswered: 2 };
    const limits = { ...TENFOLD_LIMITS.serving, acquire: 2_000 };
    return openConnections({ connectionString: pooled, poolSize: 2, limits, serving }, log);
  };
  const ask = ({ run }: Pick<Connections, 'run'>) => run(PID);
  const meaningOf = async (asked: Promise<unknown>) => {
    const refused = await asked.catch((error: unknown) => error);
    return refused instanceof StorageUnavailable ? [refused.fault?.code, refused.fault?.meaning] : refused;
  };

  it('that accepts no further client, the reason is named, and a process keeps its last connection', async () => {
    const { pooler, settings } = await behind('session', { max_client_conn: 1 });
    const lifetimeMs = 40;
    const one = pool(settings[SERVING], lifetimeMs);
    const other = pool(settings[SERVING]);
    try {
      const before = (await ask(one)).rows[0];
      const full = 'the pooler accepts no further client: max_client_conn is reached';
      expect(await meaningOf(ask(other))).to.deep.equal(['08P01', full]);
      for (let uses = 0; uses < 3; uses++) {
        await pause(2 * lifetimeMs);
        expect((await ask(one)).rows[0]).to.deep.equal(before);
      }
    } finally {
      await Promise.all([one.close(), other.close()]);
      await pooler.close();
    }
  });

  it('that has no session of Postgres free, the reason is named', async () => {
    const scarce = await behind('session', { default_pool_size: 1, query_wait_timeout: 1 });
    const [one, other] = [pool(scarce.settings[SERVING]), pool(scarce.settings[SERVING])];
    try {
      await ask(one);
      const waited = 'the pooler had no session of Postgres free in time: query_wait_timeout was reached';
      expect(await meaningOf(ask(other))).to.deep.equal(['08P01', waited]);
    } finally {
      await Promise.all([one.close(), other.close()]);
      await scarce.pooler.close();
    }
  });
});
