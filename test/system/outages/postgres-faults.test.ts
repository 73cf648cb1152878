/**
 * Faults of Postgres that an operator can mend: 503 with Retry-After, no record, a sentence in the log, in `/readyz` and in
 * the metric; then the service goes on by itself.
 */

import { expect } from 'chai';
import pg from 'pg';
import { READINESS_LIMITS } from '../../../adapters/storage/postgres/limits.ts';
import { SUPERUSER } from '../../support/postgres-server.ts';
import { testDamagedPage } from './damaged-page.ts';
import { faultyPostgres, HEALTHY } from './faulty-postgres.ts';
import { DATABASE } from './own-postgres.ts';
import { testStandbysAndPartitions } from './standbys-and-partitions.ts';

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
      'Postgres reached one of its limits: mostly, it assigns no transaction numbers any more, to prevent a wraparound (54000)',
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

const SERVED = 'Introspection and key sets are served.';

describe('While Postgres', function () {
  this.timeout(60_000);
  const faulty = faultyPostgres();
  const { readiness, expectUnavailable, records, outages } = faulty;

  const holding = async (statement: string) => {
    const { own } = faulty;
    const client = new pg.Client({ connectionString: own.postgres.server.url(SUPERUSER, DATABASE) });
    await client.connect();
    const { rows } = await client.query('select pg_backend_pid() as pid');
    await client.query(`begin; ${statement}`);
    return { pid: Number(rows[0].pid), release: () => client.end() };
  };

  for (const { title, cause, end, words, isUnready } of faults) {
    it(`${title}, nothing is decided, the cause is named once, and it goes on by itself`, async () => {
      const { own, mandate, agent } = faulty;
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
    const { mandate, agent } = faulty;
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

  it('has locked tasks, and /readyz says that introspection waits too', async () => {
    const { agent } = faulty;
    const lock = await holding('lock table tasks in access exclusive mode');
    try {
      const words = `another session holds a lock (55P03): process ${lock.pid} on tasks. Introspection waits for it too.`;
      expect(await readiness()).to.deep.equal([200, 'Degraded', `Decisions fail: ${words}`]);
    } finally {
      await lock.release();
    }
    expect((await agent.exchange()).status).to.equal(200);
  });

  it('has a partition whose index another session builds, and the process that locks it is named', async () => {
    const { own, agent } = faulty;
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
    const { own, mandate, agent } = faulty;
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

  testStandbysAndPartitions(faulty);
  testDamagedPage(faulty);
});
