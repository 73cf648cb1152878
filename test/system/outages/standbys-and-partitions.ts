/** Standbys, TLS and partitions of Postgres that fail. */

import { chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openPostgresCondition } from '../../../adapters/storage/postgres/condition.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { runCommand } from '../../support/command-process.ts';
import { eventually } from '../../support/eventually.ts';
import { withService } from '../../support/mandate.ts';
import { SUPERUSER, serverAccount } from '../../support/postgres-server.ts';
import type { FaultyPostgres } from './faulty-postgres.ts';
import { HEALTHY } from './faulty-postgres.ts';
import { DATABASE } from './own-postgres.ts';

/** A certificate for 127.0.0.1, its key, and the authority that signed it. */
const TLS = fileURLToPath(new URL('../../support/tls/', import.meta.url));

const DAY = 24 * 60 * 60;

export function testStandbysAndPartitions(faulty: FaultyPostgres): void {
  const { readiness, expectUnavailable, records, outages } = faulty;

  it('waits for a synchronous standby, the waiting commits are counted, and they go on when it waits no more', async () => {
    const { own, agent } = faulty;
    await own.sql("alter system set synchronous_standby_names = 'lost'");
    await own.sql('select pg_reload_conf()');
    const condition = await openPostgresCondition(own.postgres.server.url('serving', DATABASE), capturedLog());
    try {
      // Commits wait from the moment that Postgres's checkpointer has read the setting.
      let answer = await agent.exchange();
      await eventually(async () => {
        if (answer.status === 200) answer = await agent.exchange();
        return answer.status !== 200;
      });
      // A commit waits also if its client is gone, so a refused exchange may be committed later.
      expectUnavailable(answer);
      const [code, status, detail] = await readiness();
      expect([code, status]).to.deep.equal([200, 'Degraded']);
      expect(detail).to.match(
        /^Decisions fail: their commits wait for a synchronous standby, in (1 session|\d+ sessions)\. Introspection and key sets are served\.$/,
      );
      const writing = await condition.writing();
      expect(writing).to.deep.include({
        isStandby: false,
        fault: undefined,
        standbys: { needed: 1, connected: 0 },
        lockHolders: [],
      });
      expect(writing?.awaitingStandby).to.be.greaterThan(0);
    } finally {
      await condition.close();
      await own.sql('alter system reset synchronous_standby_names');
      await own.sql('select pg_reload_conf()');
    }
    expect((await agent.exchange()).status).to.equal(200);
    expect(await readiness()).to.deep.equal(HEALTHY);
  });

  it('has no TLS, or a certificate of an unknown authority, and a command says which and what to do', async () => {
    const { own } = faulty;
    const migrate = async (parameters: string) => {
      const uri = `${own.postgres.server.url(SUPERUSER, DATABASE)}?${parameters}`;
      const settings = { 'Service:Database:Provider': 'postgres', 'Service:Database:ConnectionString': uri };
      const { code, err } = await runCommand(['migrate'], settings);
      return [code, err.split('\n', 1)[0]];
    };
    const at = `at 127.0.0.1:${own.postgres.server.port}`;
    // Also as `require`, the driver itself writes no warning.
    expect(await migrate('sslmode=require')).to.deep.equal([
      1,
      `mandate: Postgres offers no TLS, and the connection string requires it (NO_TLS) ${at}: set ssl = on at the server. If the network between is yours alone, write sslmode=disable.`,
    ]);
    const owner = serverAccount();
    for (const name of ['server.pem', 'server-key.pem']) {
      const file = join(own.postgres.data, name);
      writeFileSync(file, readFileSync(TLS + name), { mode: 0o600 });
      if (owner !== undefined) chownSync(file, owner.uid, owner.gid);
    }
    await own.sql("alter system set ssl_cert_file = 'server.pem'");
    await own.sql("alter system set ssl_key_file = 'server-key.pem'");
    await own.sql('alter system set ssl = on');
    await own.sql('select pg_reload_conf()');
    const [code, said] = await migrate('sslmode=require');
    expect([code, said]).to.deep.equal([
      1,
      `mandate: The certificate of Postgres is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE) ${at}: see what the code means. Name the authority of the certificate with sslrootcert, and in the connection string the host that the certificate names.`,
    ]);
    expect(await migrate(`sslmode=require&sslrootcert=${TLS}ca.pem`)).to.deep.equal([0, '']);
  });

  it('has no partition for this month, the first request makes the service create it, and the next is served', async () => {
    const { mandate, agent } = faulty;
    // Longer than any token, so the agent registered before is as good as another.
    mandate.clock.advance(120 * DAY);
    const before = await records();
    const line = mandate.log.lines.length;
    expectUnavailable(await agent.exchange());
    expect(outages(line).map(({ message }) => message)).to.deep.equal([
      'the database could not answer: the ledger has no partition for this month (23514)',
    ]);
    expect(await records()).to.equal(before);
    const created = (text: string) => text.includes('its partitions were created');
    await eventually(() => mandate.log.lines.slice(line).some(created));
    expect((await agent.exchange()).status).to.equal(200);
    expect(await records()).to.equal(before + 1);
    expect((await readiness())[1]).to.equal('Healthy');
  });

  it('has no partition for this month, and a check of readiness makes the service create it', async () => {
    const { mandate } = faulty;
    await withService(mandate.another({}), async (other) => {
      // The hourly upkeep runs at the start, with the time before.
      await other.untilReady();
      other.clock.advance(240 * DAY);
      const unready = await readiness(other);
      expect(unready.slice(0, 2)).to.deep.equal([503, 'Unhealthy']);
      expect(unready[2]).to.match(/^The ledger has no partition ledger_\d{4}_\d{2}; run `mandate migrate`\.$/);
      await eventually(async () => (await readiness(other))[1] === 'Healthy');
    });
  });

  it('is a standby, nothing is decided, doctor names it, and the service goes on after its promotion', async () => {
    const { own, agent } = faulty;
    const [row] = await own.sql('show data_directory');
    await own.postgres.halt('fast');
    writeFileSync(join(String(row?.data_directory), 'standby.signal'), '');
    const started = own.postgres.start();
    const answers = () =>
      own.sql('select 1').then(
        () => true,
        () => false,
      );
    await eventually(answers, 50);
    const condition = await openPostgresCondition(own.postgres.server.url('serving', DATABASE), capturedLog());
    try {
      expectUnavailable(await agent.exchange());
      expect((await readiness()).slice(0, 2)).to.deep.equal([503, 'Unhealthy']);
      const writing = await condition.writing();
      expect(writing).to.deep.include({ isStandby: true });
      expect(writing?.fault?.code).to.equal('25006');
    } finally {
      await condition.close();
      await own.sql('select pg_promote()');
      await started;
    }
    await eventually(async () => (await agent.exchange()).status === 200);
    expect((await readiness())[1]).to.equal('Healthy');
  });
}
