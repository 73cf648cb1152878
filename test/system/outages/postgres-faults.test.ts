/**
 * Faults of Postgres that an operator can mend: 503 with Retry-After, no record, a sentence in the log, in `/readyz` and in
 * the metric; then the service goes on by itself.
 */

import { chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import pg from 'pg';
import { openPostgresCondition } from '../../../adapters/storage/postgres/condition.ts';
import { READINESS_LIMITS } from '../../../adapters/storage/postgres/limits.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { runCommand } from '../../support/command-process.ts';
import { eventually } from '../../support/eventually.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { SUPERUSER, serverAccount } from '../../support/postgres-server.ts';
import { DATABASE, type OwnPostgres, ownPostgres } from './own-postgres.ts';

/** A certificate for 127.0.0.1, its key, and the authority that signed it. */
const TLS = fileURLToPath(new URL('../../support/tls/', import.meta.url));

interface Fault {
  readonly title: string;
  readonly cause: string;
  readonly end: string;
  /** The end of the sentence in the log and in `/readyz`. */
  readonly words: string;
  /** Whether the check of readiness cannot read either. */
  readonly isUnready?: true;
}

const raising = (state: string): Pick<Fault, 'cause' | 'end'> => ({
  cause: `create function failing() returns trigger language plpgsql as $$
      begin raise exception 'row of ada@corp.example' using errcode = '${state}'; end $$;
    create trigger failing before insert on tasks execute function failing()`,
  end: 'drop trigger failing on tasks; drop function failing()',
});

/** `raising` raises the error of a state of the whole server that a test cannot cause within seconds. */
const faults: readonly Fault[] = [
  {
    title: 'has a full disk',
    ...raising('53100'),
    words: 'a disk of the Postgres server is full (53100)',
  },
  {
    title: 'assigns no transaction numbers any more',
    ...raising('54000'),
    words:
      'Postgres reached a limit of its own: mostly, it assigns no transaction numbers any more, to prevent a wraparound (54000)',
  },
  {
    title: 'lost a prepared statement',
    ...raising('26000'),
    words: 'a prepared statement is lost or belongs to another client: a pooler shares sessions (26000)',
  },
  {
    title: 'lacks a table that only decisions use',
    cause: 'alter table task_grants rename to task_grants_away',
    end: 'alter table task_grants_away rename to task_grants',
    words: 'a table of Mandate is missing (42P01)',
  },
  {
    title: 'lacks the table of tasks',
    cause: 'alter table tasks rename to tasks_away',
    end: 'alter table tasks_away rename to tasks',
    words: 'a table of Mandate is missing (42P01)',
    isUnready: true,
  },
  {
    title: 'lacks the table of agents, which introspection reads',
    cause: 'alter table agents rename to agents_away',
    end: 'alter table agents_away rename to agents',
    words: 'a table of Mandate is missing (42P01)',
    isUnready: true,
  },
  {
    title: 'lacks a column',
    cause: 'alter table task_grants rename column task_id to task_id_away',
    end: 'alter table task_grants rename column task_id_away to task_id',
    words: 'a column of Mandate is missing (42703)',
  },
  {
    title: 'lacks a function',
    cause: 'alter function append_records rename to append_away',
    end: 'alter function append_away rename to append_records',
    words: 'a function of Mandate is missing (42883)',
  },
  {
    title: 'gives the role one right too few',
    cause: 'revoke insert on tasks from serving',
    end: 'grant insert on tasks to serving',
    words: 'the role lacks a right on a table or function (42501)',
  },
];

const HEALTHY = [200, 'Healthy', 'The database answers.'];

const DAY = 24 * 60 * 60;

const SERVED = 'Introspection and key sets are served.';

describe('While Postgres', function () {
  this.timeout(60_000);
  let own: OwnPostgres;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    own = await ownPostgres();
    mandate = await startMandate({ database: own.database });
    agent = await mandate.agent();
  });
  after(async () => {
    await mandate.stop();
    await own.postgres.stop();
  });

  const readiness = async (of = mandate) => {
    const { status: code, body } = await of.get('/readyz', { accept: 'application/json' });
    const { database } = body.checks as Record<string, { readonly status: string; readonly detail: string }>;
    return [code, database?.status, database?.detail];
  };
  const expectUnavailable = (answer: Answer) => {
    expect(answer.status, answer.text).to.equal(503);
    expect(answer.headers.get('retry-after')).to.equal('5');
    expect(answer.body.error).to.equal('temporarily_unavailable');
  };
  const records = async () => Number((await own.sql('select count(*) as number from ledger'))[0]?.number);
  /** The log's lines about outages, after a given line. */
  const outages = (since: number) =>
    mandate.log.lines
      .slice(since)
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message.startsWith('the database could not answer'));
  const holding = async (statement: string) => {
    const client = new pg.Client({ connectionString: own.postgres.server.url(SUPERUSER, DATABASE) });
    await client.connect();
    const { rows } = await client.query('select pg_backend_pid() as pid');
    await client.query(`begin; ${statement}`);
    return { pid: Number(rows[0].pid), release: () => client.end() };
  };

  for (const { title, cause, end, words, isUnready } of faults) {
    it(`${title}, nothing is decided, the cause is named once, and it goes on by itself`, async () => {
      // The log has each cause at most once in ten seconds.
      mandate.clock.advance(10);
      const issued = await agent.exchange();
      expect(issued.status, issued.text).to.equal(200);
      const before = await records();
      const line = mandate.log.lines.length;
      await own.sql(cause);
      try {
        for (let time = 0; time < 3; time++) expectUnavailable(await agent.exchange());
        expect(await readiness()).to.deep.equal(
          isUnready
            ? [503, 'Unhealthy', `Postgres refused the question: ${words}.`]
            : [200, 'Degraded', `Decisions fail: ${words}. ${SERVED}`],
        );
        if (!isUnready) expect((await mandate.introspect(issued)).active).to.equal(true);
        expect(await records()).to.equal(before);
        const said = outages(line);
        expect(said.map(({ level, message }) => [level, message])).to.deep.equal([
          ['error', `the database could not answer: ${words}`],
        ]);
        // No stack, and nothing of the row.
        expect(said[0].cause).to.equal('undefined');
        expect(mandate.log.lines.slice(line).join()).not.to.include('ada@corp');
      } finally {
        await own.sql(end);
      }
      expect((await agent.exchange()).status).to.equal(200);
      expect(await readiness()).to.deep.equal(HEALTHY);
    });
  }

  it('has a ledger that another session locks, the lock and its process are named, and introspection is served', async () => {
    const issued = await agent.exchange();
    const before = await records();
    const lock = await holding('lock table ledger in access exclusive mode');
    const words = `Decisions fail: another session holds a lock (55P03): process ${lock.pid} on ledger.`;
    try {
      // The check finds the lock without a decision that failed.
      const began = performance.now();
      expect(await readiness()).to.deep.equal([200, 'Degraded', `${words} ${SERVED}`]);
      expect(performance.now() - began).to.be.below(3 * READINESS_LIMITS.query);
      expectUnavailable(await agent.exchange());
      expect((await mandate.introspect(issued)).active).to.equal(true);
    } finally {
      await lock.release();
    }
    expect(await records()).to.equal(before);
    expect((await agent.exchange()).status).to.equal(200);
    expect(await readiness()).to.deep.equal(HEALTHY);
  });

  it('has locked tasks, and it is said that introspection waits too', async () => {
    const lock = await holding('lock table tasks in access exclusive mode');
    try {
      const words = `another session holds a lock (55P03): process ${lock.pid} on tasks. Introspection waits for it too.`;
      expect(await readiness()).to.deep.equal([200, 'Degraded', `Decisions fail: ${words}`]);
    } finally {
      await lock.release();
    }
    expect((await agent.exchange()).status).to.equal(200);
  });

  it('has a partition under construction of an index, and the process that locks it is named', async () => {
    const [month] = await own.sql("select relname from pg_class where relname ~ '^ledger_\\d{4}_\\d{2}$' order by 1");
    const table = String(month?.relname);
    const lock = await holding(`lock table ${table} in share mode`);
    try {
      expect((await readiness())[1]).to.equal('Healthy');
      expectUnavailable(await agent.exchange());
      const words = `another session holds a lock (55P03): process ${lock.pid} on ${table}. ${SERVED}`;
      expect(await readiness()).to.deep.equal([200, 'Degraded', `Decisions fail: ${words}`]);
    } finally {
      await lock.release();
    }
    expect((await agent.exchange()).status).to.equal(200);
  });

  it('lets the role open no connection, and the limit is named', async () => {
    mandate.clock.advance(10);
    const before = await records();
    const line = mandate.log.lines.length;
    const words =
      'Postgres gives no further connection: its limit, or that of the database or the role, is reached (53300)';
    await own.sql('alter role serving connection limit 0');
    try {
      await own.terminate();
      for (let time = 0; time < 3; time++) expectUnavailable(await agent.exchange());
      const unready = [503, 'Unhealthy', `Postgres refused the question: ${words}.`];
      expect(await readiness()).to.deep.equal(unready);
      expect(outages(line).map(({ message }) => message)).to.deep.equal([`the database could not answer: ${words}`]);
    } finally {
      await own.sql('alter role serving connection limit -1');
    }
    expect((await agent.exchange()).status).to.equal(200);
    expect(await records()).to.equal(before + 1);
    expect(await readiness()).to.deep.equal(HEALTHY);
  });

  it('waits for a synchronous standby, the waiting commits are counted, and they go on when it waits no more', async () => {
    await own.sql("alter system set synchronous_standby_names = 'lost'");
    await own.sql('select pg_reload_conf()');
    const condition = await openPostgresCondition(own.postgres.server.url('serving', DATABASE), capturedLog());
    try {
      // A commit waits also if its client is gone, so a refused exchange may be committed later.
      expectUnavailable(await agent.exchange());
      const [code, status, detail] = await readiness();
      expect([code, status]).to.deep.equal([200, 'Degraded']);
      expect(detail).to.match(
        /^Decisions fail: their commits wait for a synchronous standby, in (1 session|\d+ sessions)\. Introspection and key sets are served\.$/,
      );
      const writing = await condition.writing();
      expect(writing).to.deep.include({ isStandby: false, fault: undefined, synchronousCommit: 'on', lockHolders: [] });
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
    const migrate = async (parameters: string) => {
      const uri = `${own.postgres.server.url(SUPERUSER, DATABASE)}?${parameters}`;
      const settings = { 'Service:Database:Provider': 'postgres', 'Service:Database:ConnectionString': uri };
      const { code, err } = await runCommand(['migrate'], settings);
      return [code, err.split('\n', 1)[0]];
    };
    // Also as `require`, the driver writes no warning of its own.
    expect(await migrate('sslmode=require')).to.deep.equal([
      1,
      'mandate: Postgres offers no TLS, and the connection string requires it (NO_TLS). Set ssl = on at the server. If the network between is yours alone, write sslmode=disable.',
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
      'mandate: The certificate of Postgres is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE). See what the code means. Name the authority of the certificate with sslrootcert, and in the connection string the host that the certificate names.',
    ]);
    expect(await migrate(`sslmode=require&sslrootcert=${TLS}ca.pem`)).to.deep.equal([0, '']);
  });

  it('has no partition for this month, the first request makes the service create it, and the next is served', async () => {
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
    const other = await mandate.another({});
    // The hourly upkeep runs at the start, with the time before.
    await other.untilReady();
    other.clock.advance(240 * DAY);
    const unready = await readiness(other);
    expect(unready.slice(0, 2)).to.deep.equal([503, 'Unhealthy']);
    expect(unready[2]).to.match(/^The ledger has no partition ledger_\d{4}_\d{2}; run `mandate migrate`\.$/);
    await eventually(async () => (await readiness(other))[1] === 'Healthy');
    await other.stop();
  });

  it('is a standby, nothing is decided, doctor names it, and the service goes on after its promotion', async () => {
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
});
