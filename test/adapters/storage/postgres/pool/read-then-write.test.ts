/** Transactions that read, then write and commit, in two round trips, and the errors that they throw. */

import { expect } from 'chai';
import pg from 'pg';
import {
  type Connections,
  openConnections,
  type Prepared,
  type Run,
  type Statement,
} from '../../../../../adapters/storage/postgres/pool/pool.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { type FreshDatabase, freshDatabase, TENFOLD_LIMITS } from '../../../../support/databases.ts';
import { statementFaults } from '../../../../support/statement-faults.ts';
import { type TcpProxy, tcpProxy } from '../../../../support/tcp-proxy.ts';
import { errorOf } from '../../../../support/thrown-by.ts';

const DIVISION_BY_ZERO = '22012';

const one: Prepared = { name: 'one', text: 'select 1 as one' };
const two: Prepared = { name: 'two', text: 'select 2 as two' };
const fails: Prepared = { name: 'fails', text: 'select 1/0' };
const endsSession: Prepared = { name: 'ends_session', text: 'select pg_terminate_backend(pg_backend_pid())' };
/** Has the name of a prepared statement and another text: the driver would refuse to send it. */
const unsendable: Prepared = { ...one, text: 'select 3 as three' };
const unbuildable: Prepared = {
  name: undefined,
  get text(): string {
    throw new Error('no statement can be built');
  },
};
const insert = (sponsorKey: string): Statement => ({
  query: {
    name: 'insert_block',
    text: "insert into sponsor_blocks values ($1, 'admin', 'disabled', now(), now())",
  },
  values: [sponsorKey],
});

const nothing = async () => undefined;

function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof pg.DatabaseError ? thrown.code : undefined;
}

describe('a transaction in two round trips', () => {
  let database: FreshDatabase;
  let proxy: TcpProxy;
  let uri: URL;
  let connections: Connections;
  let inserted = 0;
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);

  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    uri = new URL(database.settings['Service:Database:ConnectionString'] ?? '');
    proxy = await tcpProxy(Number(uri.port));
  });
  beforeEach(() => {
    connections = connect(proxy.port);
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    process.off('unhandledRejection', note);
    await connections.close();
    expect(unhandled.splice(0)).to.deep.equal([]);
  });
  after(async () => {
    await proxy.close();
    await database.drop();
  });

  function connect(port: number, poolSize = 1): Connections {
    const connectionString = Object.assign(new URL(uri), { port: String(port) }).href;
    return openConnections({ connectionString, poolSize, limits: TENFOLD_LIMITS.serving }, capturedLog());
  }

  const newKey = () => `sponsor-${++inserted}`;
  const isStored = async (sponsorKey: string) => {
    const find = { name: 'find_block', text: 'select from sponsor_blocks where sponsor_key = $1' };
    return (await connections.run(find, [sponsorKey])).count === 1;
  };
  /** Checks that the only connection is in no transaction, and that each answer belongs to its statement. */
  const expectClean = async () => {
    const asking = { name: 'seqscan', text: "select current_setting('enable_seqscan') as seqscan" };
    // Each transaction turns enable_seqscan off when it begins.
    expect((await connections.run(asking)).rows).to.deep.equal([{ seqscan: 'on' }]);
    expect(
      await connections.readThenWrite(
        (run) => run(two),
        (_, { rows }) => rows,
      ),
    ).to.deep.equal([{ two: 2 }]);
  };

  it('sends all reads together, then all writes together with the commit', async () => {
    await connections.run(one);
    const before = proxy.roundTrips();
    const [first, second] = [newKey(), newKey()];
    const answer = await connections.readThenWrite(
      (run) => Promise.all([run(one), run(two)]),
      (send, read) => {
        send(insert(first));
        send(insert(second));
        return read.map(({ rows }) => rows);
      },
    );
    expect(proxy.roundTrips() - before).to.equal(2);
    expect(answer).to.deep.equal([[{ one: 1 }], [{ two: 2 }]]);
    expect([await isStored(first), await isStored(second)]).to.deep.equal([true, true]);
    await expectClean();
  });

  it('sends its reads in one packet, once all of them are there', async () => {
    const clock = { name: 'clock', text: 'select clock_timestamp() as at' };
    // The proxy would wait with this thread.
    const direct = connect(Number(uri.port));
    const blockedMs = 200;
    try {
      await direct.run(clock);
      const [first, second] = await direct.readThenWrite(
        (run) => {
          const earlier = run<{ at: number }>(clock);
          // Without a packet of both, Postgres answers the first statement meanwhile.
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockedMs);
          return Promise.all([earlier, run<{ at: number }>(clock)]);
        },
        (_, read) => read.map(({ rows }) => rows[0]?.at),
      );
      expect(Number(second) - Number(first)).to.be.within(0, (blockedMs * 1000) / 2);
    } finally {
      await direct.close();
    }
  });

  it('reads within its transaction, also if one read waits for another', async () => {
    const asking = { name: 'transaction', text: 'select now() as began' };
    const { began, later } = await connections.readThenWrite(
      async (run) => ({ began: (await run(asking)).rows, later: (await run(asking)).rows }),
      (_, read) => read,
    );
    expect(later).to.deep.equal(began);
  });

  it('writes nothing if its begin failed, even if its reads succeeded', async () => {
    const faults = await statementFaults(Number(uri.port));
    const faulty = connect(faults.port);
    let writes = 0;
    await faulty.run(one);
    faults.arm(1, { sqlState: 'P0001' });
    const thrown = await errorOf(() =>
      faulty.readThenWrite(
        (run) => run(one),
        () => writes++,
      ),
    );
    expect(codeOf(thrown)).to.equal('P0001');
    expect(writes).to.equal(0);
    await faulty.close();
    await faults.close();
  });

  const READS: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
    'awaited first': (run) => Promise.all([run(one), run(fails), run(two)]),
    'awaited after the error of a later statement': async (run) => {
      const first = run(fails);
      await run(two);
      return first;
    },
    ignored: async (run) => {
      await errorOf(() => run(fails));
    },
  };
  for (const [how, read] of Object.entries(READS)) {
    it(`fails with the first error of its reads, and writes nothing: the error is ${how}`, async () => {
      let writes = 0;
      expect(codeOf(await errorOf(() => connections.readThenWrite(read, () => writes++)))).to.equal(DIVISION_BY_ZERO);
      expect(writes).to.equal(0);
      await expectClean();
    });
  }

  it('fails with the first error of its writes, and stores none of them', async () => {
    const [before, behind] = [newKey(), newKey()];
    const failing = () =>
      connections.readThenWrite(nothing, (send) => {
        for (const statement of [insert(before), { query: fails }, insert(behind), { query: fails }]) send(statement);
      });
    expect(codeOf(await errorOf(failing))).to.equal(DIVISION_BY_ZERO);
    expect([await isStored(before), await isStored(behind)]).to.deep.equal([false, false]);
    await expectClean();
  });

  for (const [what, query, said] of [
    ['has the name of another one', unsendable, 'two prepared statements have the name one'],
    ['cannot be built', unbuildable, 'no statement can be built'],
  ] as const) {
    it(`commits nothing if a statement ${what}`, async () => {
      await connections.run(one);
      const [before, behind] = [newKey(), newKey()];
      const failing = () =>
        connections.readThenWrite(nothing, (send) => {
          for (const statement of [insert(before), { query }, insert(behind)]) send(statement);
        });
      expect(String(await errorOf(failing))).to.include(said);
      expect([await isStored(before), await isStored(behind)]).to.deep.equal([false, false]);
      await expectClean();
    });
  }

  it('is rolled back with all its statements if its read or write function throws', async () => {
    const sponsorKey = newKey();
    const inRead = async (run: Run) => {
      void run(one);
      throw new Error('our own');
    };
    expect(String(await errorOf(() => connections.readThenWrite(inRead, nothing)))).to.include('our own');
    const inWrite = (send: (statement: Statement) => void) => {
      send(insert(sponsorKey));
      throw new Error('our own');
    };
    expect(String(await errorOf(() => connections.readThenWrite(nothing, inWrite)))).to.include('our own');
    expect(await isStored(sponsorKey)).to.equal(false);
    await expectClean();
  });

  it('leaves no unhandled rejection of a statement that its functions do not await', async () => {
    const inRead = async (run: Run) => {
      void run(fails);
      void run(two);
      throw new Error('our own');
    };
    expect(codeOf(await errorOf(() => connections.readThenWrite(inRead, nothing)))).to.equal(DIVISION_BY_ZERO);
    await expectClean();
  });

  it('is unavailable if its session ends, and the next transaction gets another connection', async () => {
    const sponsorKey = newKey();
    const inRead = () => connections.readThenWrite((run) => Promise.all([run(endsSession), run(one)]), nothing);
    expect(await errorOf(inRead)).to.be.instanceOf(StorageUnavailable);
    const inWrite = () =>
      connections.readThenWrite(nothing, (send) => {
        for (const statement of [insert(sponsorKey), { query: endsSession }, { query: one }]) send(statement);
      });
    expect(await errorOf(inWrite)).to.be.instanceOf(StorageUnavailable);
    expect(await isStored(sponsorKey)).to.equal(false);
    await expectClean();
  });

  it('fails if Postgres answers its commit with a rollback', async () => {
    const sponsorKey = newKey();
    const faults = await statementFaults(Number(uri.port));
    const faulty = connect(faults.port);
    await faulty.run(one);
    // The fourth statement is the commit, after the begin, the read and the insert.
    faults.arm(4, { instead: 'rollback' });
    const thrown = await errorOf(() =>
      faulty.readThenWrite(
        (run) => run(one),
        (send) => send(insert(sponsorKey)),
      ),
    );
    expect(String(thrown)).to.include('the transaction was rolled back');
    expect(await isStored(sponsorKey)).to.equal(false);
    await faulty.close();
    await faults.close();
  });

  it('is retried if Postgres rolled it back because of a deadlock', async () => {
    const lock = (key: number): Prepared => ({
      name: `deadlock_${key}`,
      text: `select pg_advisory_xact_lock(98, ${key})`,
    });
    const pool = connect(Number(uri.port), 2);
    let attempts = 0;
    let proceed = (): void => undefined;
    const bothHoldOne = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const both = (first: number, second: number) =>
      pool.readThenWrite(
        async (run) => {
          await run(lock(first));
          attempts += 1;
          if (attempts === 2) proceed();
          await bothHoldOne;
        },
        (send) => {
          for (const query of [lock(second), two]) send({ query });
          return first;
        },
      );
    const { now } = performance;
    // A stopped clock: on a busy machine the time for retries could run out.
    performance.now = () => 0;
    try {
      expect(await Promise.all([both(1, 2), both(2, 1)])).to.deep.equal([1, 2]);
    } finally {
      performance.now = now;
    }
    expect(attempts).to.be.greaterThan(2);
    await pool.close();
  });
});
