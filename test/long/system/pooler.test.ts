/** PgBouncer, which in transaction mode gives one session of Postgres to several clients. */

import { expect } from 'chai';
import { runCommand, startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { pgbouncerIsInstalled, startPgbouncer } from '../../support/pgbouncer.ts';

const SERVING = 'Service:Database:ConnectionString';
const MIGRATING = 'Service:Database:MigrationConnectionString';
const REFUSAL = /pooler that gives one session to several clients \(transaction mode\)/;

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

  async function behind(mode: 'transaction' | 'session') {
    const [serving = '', migrating = ''] = [database.settings[SERVING], database.settings[MIGRATING]];
    const roles = [serving, migrating].map((uri) => new URL(uri).username);
    const pooler = await startPgbouncer(mode, Number(new URL(serving).port), roles);
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
});
