import { expect } from 'chai';
import { capturedLog } from '../../../support/captured-log.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { eventually } from '../../../support/eventually.ts';
import { openPostgres } from '../../../support/open-postgres.ts';
import { startPostgresPair } from '../../../support/postgres-pair.ts';
import { type RunningPostgres, SUPERUSER } from '../../../support/postgres-server.ts';

describe('several hosts in a connection string, of which another was promoted', function () {
  this.timeout(120_000);

  it('lead away from an old primary that still accepts connections, once another host was promoted', async () => {
    const pair = await startPostgresPair();
    const ports = [pair.primary.server.port, pair.standby.server.port];
    const uri = `postgresql://${SUPERUSER}@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres?target_session_attrs=read-write`;
    const storage = await openPostgres({ connectionString: uri }, { clock: { now: () => NOON }, log: capturedLog() });
    const sessions = async (server: RunningPostgres) =>
      (await pair.sql(server, "select from pg_stat_activity where application_name = 'mandate'")).length;
    expect(await storage.schemaStatus()).to.equal('absent');
    await pair.promote();
    // No session of the old primary ended.
    await eventually(async () => (await sessions(pair.standby)) > 0 && (await sessions(pair.primary)) === 0, 50);
    await storage.close();
    await pair.stop();
  });
});
