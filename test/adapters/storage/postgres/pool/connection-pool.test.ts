import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ledgerMemory } from '../../../../../adapters/storage/ledger-memory.ts';
import { type Limits, RENEWAL_RETRY_MS } from '../../../../../adapters/storage/postgres/limits.ts';
import type { Ask } from '../../../../../adapters/storage/postgres/pool/capabilities.ts';
import type { ServingPool } from '../../../../../adapters/storage/postgres/pool/connection-pool.ts';
import { type Connections, openConnections } from '../../../../../adapters/storage/postgres/pool/pool.ts';
import { knownPrimary } from '../../../../../adapters/storage/postgres/pool/primary.ts';
import { unansweredCommits } from '../../../../../adapters/storage/postgres/pool/unanswered.ts';
import type { IsThere } from '../../../../../adapters/storage/postgres/pool/watchdog.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { TENFOLD_LIMITS } from '../../../../support/databases.ts';
import { NOON } from '../../../../support/domain-fixtures.ts';
import { eventually } from '../../../../support/eventually.ts';
import { atTime } from '../../../../support/ledger/archivings.ts';
import { type OwnPostgres, ownPostgres } from '../../../../system/outages/own-postgres.ts';

const PID = { name: 'pid', text: 'select pg_backend_pid() as pid' };
const WRITE = { name: 'write', text: "select pg_logical_emit_message(true, 'test', '')" };
const LIFETIME_MS = 40;

describe('The connections of a serving process', function () {
  this.timeout(30_000);
  let own: OwnPostgres;
  const opened: Connections[] = [];

  before(async () => {
    own = await ownPostgres();
  });
  afterEach(async () => {
    await own.sql('alter system reset synchronous_standby_names');
    await own.sql('select pg_reload_conf()');
    for (const connections of opened.splice(0)) await connections.close();
  });
  after(() => own.postgres.stop());

  const connect = (
    poolSize: number,
    serving: Partial<ServingPool> = {},
    limits: Limits = TENFOLD_LIMITS.serving,
    isThere?: IsThere,
  ) => {
    const log = capturedLog();
    const primary = knownPrimary(ledgerMemory(), log);
    const connectionString = own.postgres.server.url('serving', 'mandate');
    const pool = { primary, lifetimeMs: 60_000, keepsOne: false, mostUnanswered: poolSize, ...serving };
    const connections = openConnections({ connectionString, poolSize, limits, isThere, serving: pool }, log);
    opened.push(connections);
    return connections;
  };
  const pidOf = async ({ run }: Connections) => (await run<{ pid: number }>(PID)).rows[0]?.pid ?? 0;
  const expectFault = async (call: Promise<unknown>, code: string) => {
    const refused = await call.catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(StorageUnavailable).with.nested.property('fault.code', code);
  };
  const loseStandby = async () => {
    await own.sql("alter system set synchronous_standby_names to 'nobody'");
    await own.sql('select pg_reload_conf()');
  };

  async function commitUnanswered(): Promise<void> {
    const asking = connect(1);
    let answers = 0;
    const unanswered = unansweredCommits(async (query, values) => {
      const answer = await asking.run<never>(query, values);
      answers += 1;
      return answer;
    });
    const limits = { ...TENFOLD_LIMITS.serving, acquire: 100, query: 200 };
    const connections = connect(2, { unanswered, mostUnanswered: 2 }, limits);
    await loseStandby();
    const waiting = async () =>
      Number((await own.sql("select count(*) from pg_stat_activity where wait_event = 'SyncRep'"))[0]?.count);
    for (let attempts = 0; attempts < 5; attempts++) {
      const refused = await connections.transact((run) => run(WRITE)).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(StorageUnavailable);
    }
    // The server was asked, and still runs both.
    await eventually(() => answers > 0);
    expect([await waiting(), unanswered.count]).to.deep.equal([2, 2]);
    await own.sql('alter system reset synchronous_standby_names');
    await own.sql('select pg_reload_conf()');
    await eventually(() => unanswered.count === 0);
    await connections.transact((run) => run(WRITE));
    expect(await waiting()).to.equal(0);
  }

  it('are replaced after their lifetime', async () => {
    const connections = connect(2, { lifetimeMs: LIFETIME_MS });
    const first = await pidOf(connections);
    await eventually(async () => (await pidOf(connections)) !== first);
    // The old one is closed.
    await eventually(async () => (await own.sessions()) === 1);
  });

  it('are used on if the server has no free one to replace them', async () => {
    const connections = connect(2, { lifetimeMs: LIFETIME_MS });
    const first = await pidOf(connections);
    const occupied = await own.occupy();
    try {
      await pause(2 * LIFETIME_MS);
      // The second use follows the attempt to replace the connection, which the server refused.
      expect(await pidOf(connections)).to.equal(first);
      // This one meets the attempt to replace the connection, which the server refuses, and waits for it.
      expect(await pidOf(connections)).to.equal(first);
      await eventually(() => connections.line('x').connections?.free === 1);
      expect(await pidOf(connections)).to.equal(first);
      expect(RENEWAL_RETRY_MS).to.be.above(LIFETIME_MS);
    } finally {
      await occupied.leave();
    }
  });

  for (const tracked of ['on', 'off']) {
    it(`stay counted after a commit without an answer, until the server has ended it: track_activities ${tracked}`, async () => {
      await own.sql(`alter role serving set track_activities to ${tracked}`);
      await commitUnanswered();
      await own.sql('alter role serving reset track_activities');
    });
  }

  it('do not delay the close, whether a commit without an answer ended before it or during it', async () => {
    const unanswered = unansweredCommits(connect(1).run);
    const limits = { ...TENFOLD_LIMITS.serving, query: 200 };
    const connections = connect(2, { unanswered, mostUnanswered: 2 }, limits);
    await loseStandby();
    await connections.transact((run) => run(WRITE)).catch(() => undefined);
    const refused = connections.transact((run) => run(WRITE)).catch((error: unknown) => error);
    await eventually(() => connections.line('x').connections?.used === 2);
    await connections.close();
    expect(await refused).to.be.instanceOf(StorageUnavailable);
    opened.pop();
  });

  it('are left to reads while too many commits get no answer: further writes are refused at once', async () => {
    const unanswered = unansweredCommits(connect(1).run);
    const limits = { ...TENFOLD_LIMITS.serving, query: 200 };
    const connections = connect(2, { unanswered, mostUnanswered: 1 }, limits);
    await loseStandby();
    const write = () => connections.transact((run) => run(WRITE)).catch((error: Error) => error);
    expect(await write()).to.be.instanceOf(StorageUnavailable);
    const refused = await write();
    expect(refused).to.be.instanceOf(StorageUnavailable).with.nested.property('fault.code', 'COMMITS_UNANSWERED');
    expect(unanswered.count).to.equal(1);
    expect((await connections.readTogether((run) => run(PID))).count).to.equal(1);
  });

  it('release the locks of a call that was given up, as soon as the server answers it', async () => {
    const unanswered = unansweredCommits(connect(1).run);
    const limits = { ...TENFOLD_LIMITS.serving, query: 300, idleInTransaction: 60_000 };
    const connections = connect(1, { unanswered }, limits, async () => true);
    const givenUp = connections.transact(async (run) => {
      await run({ name: 'lock', text: 'select pg_advisory_xact_lock(7, 7)' });
      await run({ name: 'slow', text: 'select pg_sleep(1)' });
    });
    expect(await givenUp.catch((error: unknown) => error)).to.be.instanceOf(StorageUnavailable);
    expect(unanswered.count).to.equal(1);
    await eventually(() => unanswered.count === 0);
    const isHeld = "select from pg_locks where locktype = 'advisory' and classid = 7";
    await eventually(async () => (await own.sql(isHeld)).length === 0);
  });

  it('are released if another process now has the pid of their server process', async () => {
    const unanswered = unansweredCommits(connect(1).run);
    const other = connect(1);
    const pid = await pidOf(other);
    let isRunning = true;
    const running = other.run({ name: 'long', text: 'select pg_sleep(20)' }).catch(() => {
      isRunning = false;
    });
    unanswered.keep({ pid, startedAt: '2000-01-01 00:00:00+00' }, () => undefined);
    await eventually(() => unanswered.count === 0);
    expect(isRunning).to.equal(true);
    await own.sql(`select pg_terminate_backend(${pid})`);
    await running;
  });

  it('are destroyed once another one has seen a later timeline, and an answer that arrives then does not count', async () => {
    const primary = knownPrimary(ledgerMemory(), capturedLog());
    const connections = connect(2, { primary });
    /** A connection of another pool reaches the server that was promoted. */
    const seePromoted = async () => {
      const identity = { standby: false, timeline: '0000000A', pid: 1, started_at: '' };
      const ask: Ask = async ({ name }) => ({
        rows: [
          name === 'server_identity' ? identity : { found: null, archiving: null, seq: null, ts: null, hash: null },
        ] as never,
        count: 1,
      });
      expect((await primary.examine(ask)).timeline).to.equal(10);
    };
    // Opens two connections.
    await connections.readTogether(() => pidOf(connections));
    const overtaken = connections.transact(async (run) => {
      await run(WRITE);
      await seePromoted();
    });
    await expectFault(overtaken, 'NOT_PRIMARY');
    let isAsked = false;
    const later = connections.transact(async () => {
      isAsked = true;
    });
    await expectFault(later, 'NOT_PRIMARY');
    expect(isAsked).to.equal(false);
    await eventually(async () => (await own.sessions()) === 0);
  });

  it('are refused from the moment that one of them finds a remembered record missing, and the log has its number', async () => {
    const log = capturedLog();
    const primary = knownPrimary(ledgerMemory(), log);
    const connections = connect(2, { primary });
    await pidOf(connections);
    primary.committed({ seq: 1_000_000_000, ts: NOON, hash: 'a'.repeat(64) });
    // The second connection is a new one.
    const reading = connections.readTogether(() => expectFault(pidOf(connections), 'WENT_BACK'));
    await expectFault(reading, 'WENT_BACK');
    await expectFault(pidOf(connections), 'WENT_BACK');
    expect(primary.wentBack()).to.equal(true);
    const [line = ''] = log.lines.filter((each) => each.includes('went back in time'));
    expect(JSON.parse(line)).to.include({ seq: 1_000_000_000 });
  });

  it('are refused too where an owner put a record under a sealed number, which says that the month was archived', async () => {
    const detail = '{"partition":"ledger_2020_01","checkpoints":null,"sequence":null,"before":[]}';
    await own.sql(`insert into ledger (seq, ts, event, decision, detail) overriding system value
      values (1, now(), 'audit.archived', 'allow', '${detail}')`);
    await own.sql("insert into checkpoints values (1, 1, 1, 1, 'root', 'hash', now(), 'key', 'signature')");
    await own.sql("insert into ledger_archives values ('2020-01', '2020-02-01', now())");
    const primary = knownPrimary(ledgerMemory(), capturedLog());
    const connections = connect(1, { primary });
    primary.committed({ seq: 1_000_000_000, ts: atTime('2020-01-05T00:00:00Z'), hash: 'a'.repeat(64) });
    await expectFault(pidOf(connections), 'WENT_BACK');
  });

  it('refuse writes of a transaction that reads', async () => {
    const refused = await connect(1)
      .readTogether((run) => run({ name: 'nothing', text: 'update agents set enabled = enabled' }))
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(StorageUnavailable);
  });
});
