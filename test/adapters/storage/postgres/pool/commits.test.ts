/**
 * Commits that Postgres answers with a warning: it completes a commit in this way if its wait for the synchronous standby is
 * cancelled, and a failover may then lose it.
 */

import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type pg from 'pg';
import { ledgerMemory } from '../../../../../adapters/storage/ledger-memory.ts';
import { postgresArchives } from '../../../../../adapters/storage/postgres/archives.ts';
import { expectUnwarned, watchCommits } from '../../../../../adapters/storage/postgres/pool/commits.ts';
import { type Connections, openConnections } from '../../../../../adapters/storage/postgres/pool/pool.ts';
import { knownPrimary } from '../../../../../adapters/storage/postgres/pool/primary.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { checkpointOver, seqsOf } from '../../../../contract/minimal-sealer.ts';
import { anEntry, newSponsorKey } from '../../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { TENFOLD_LIMITS } from '../../../../support/databases.ts';
import { eventually } from '../../../../support/eventually.ts';
import { movedClock } from '../../../../support/moved-clock.ts';
import type { Storage } from '../../../../support/storage.ts';
import { errorOf } from '../../../../support/thrown-by.ts';
import { type OwnPostgres, ownPostgres } from '../../../../system/outages/own-postgres.ts';

const PID = { name: 'pid', text: 'select pg_backend_pid() as pid' };
const WRITE = { name: 'write', text: "select pg_logical_emit_message(true, 'test', '')" };
const NOTE = { name: 'note', text: "insert into accepted_signals values ('ssf', 'i', gen_random_uuid()::text, now())" };

/** A session reads a new configuration at its next statement, after a signal of the server. */
const SIGNAL_MS = 50;

const expectWarned = (error: unknown) =>
  expect(error).to.be.instanceOf(StorageUnavailable).with.nested.property('fault.code', 'COMMIT_WARNED');

describe('a commit that Postgres answers with a warning', function () {
  this.timeout(60_000);
  let own: OwnPostgres;
  let connections: Connections;
  let remembered: ReturnType<typeof ledgerMemory>;

  before(async () => {
    own = await ownPostgres();
  });
  beforeEach(() => {
    const log = capturedLog();
    remembered = ledgerMemory();
    connections = openConnections(
      {
        connectionString: own.postgres.server.url('serving', 'mandate'),
        poolSize: 1,
        limits: TENFOLD_LIMITS.serving,
        serving: { primary: knownPrimary(remembered, log), lifetimeMs: 60_000, keepsOne: false, mostUnanswered: 1 },
      },
      log,
    );
  });
  afterEach(async () => {
    await connections.close();
    await own.sql('drop trigger if exists warning on accepted_signals');
  });
  after(() => own.postgres.stop());

  const pid = async () => (await connections.run<{ pid: number }>(PID)).rows[0]?.pid;

  /** Each commit waits for a standby that does not exist, until its wait is cancelled. */
  async function whileWaitsAreCancelled<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const setting = async (value: string) => {
      await own.sql(`alter system ${value}`);
      await own.sql('select pg_reload_conf()');
    };
    await setting("set synchronous_standby_names to 'nobody'");
    let isOver = false;
    let cancelled = 0;
    const cancelling = eventually(async () => {
      const waiting = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
      cancelled += (await own.sql(waiting)).length;
      return isOver;
    });
    // Commits wait from the moment that Postgres's checkpointer has read the setting.
    while (cancelled === 0) await own.sql(WRITE.text);
    try {
      return await work();
    } finally {
      isOver = true;
      await cancelling;
      await setting('reset synchronous_standby_names');
    }
  }

  const ways = {
    'of a transaction': () => connections.transact((run) => run(WRITE)),
    'sent with its statements in one packet': () =>
      connections.readThenWrite(
        (run) => run(PID),
        (send) => send({ query: WRITE }),
      ),
    'of the record of an export': () =>
      postgresArchives(connections).record(anEntry('audit.archived', { at: movedClock().now() })),
  };
  for (const [way, write] of Object.entries(ways)) {
    it(`is one without an answer, if its wait was cancelled: a commit ${way}`, async () => {
      const before = await pid();
      expectWarned(await whileWaitsAreCancelled(() => errorOf(write)));
      // The connection was destroyed, and the next commit is answered.
      expect(await pid()).to.not.equal(before);
      await write();
    });
  }

  it('is one without an answer for the storage: decisions, checkpoints, partitions, jobs, a migration', async () => {
    const database = await own.database.fresh();
    const at = movedClock().now();
    const storage: Storage = await database.open({ limits: TENFOLD_LIMITS });
    try {
      await storage.ledger.append(anEntry('admin.denied', { at }));
      const unsealed = await storage.checkpoints.unsealed();
      if (unsealed === undefined) throw new Error('nothing is unsealed');
      const checkpoint = checkpointOver(unsealed, await seqsOf(storage.checkpoints, unsealed));
      const writes: Readonly<Record<string, () => Promise<unknown>>> = {
        append: () => storage.ledger.append(anEntry('admin.denied', { at })),
        block: () =>
          storage.sponsors.block(
            { sponsorKey: newSponsorKey(), source: 'admin', kind: 'disabled', blockedAt: at },
            'sponsor_blocked',
          ),
        'switch that finds nothing': () =>
          storage.tasks.end({ kind: 'sponsor', sponsorKey: newSponsorKey() }, { at, reason: 'operator_kill_switch' }),
        checkpoint: () => storage.checkpoints.add(checkpoint),
        partitions: () => storage.createPartitions(at, 5),
        queueing: () => storage.outbox.setQueueing(true),
        migrate: () => storage.migrate(),
        'after-restore': () => storage.afterRestore({ at, latest: at, above: 0 }),
      };
      for (const [name, write] of Object.entries(writes)) {
        const error = await whileWaitsAreCancelled(() => errorOf(write));
        expect(error, name).to.be.instanceOf(StorageUnavailable).with.nested.property('fault.code', 'COMMIT_WARNED');
      }
      await storage.outbox.setQueueing(false);
    } finally {
      await storage.close();
    }
  });

  const COMMIT = { name: undefined, text: "select current_setting('synchronous_commit') as value" };
  const synchronousCommit = async () => (await connections.run<{ value: string }>(COMMIT)).rows[0]?.value;
  const reload = async (change: string) => {
    await own.sql(`alter system ${change}`);
    await own.sql('select pg_reload_conf()');
  };
  for (const [configured, expected] of [
    ['on', 'on'],
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['remote_apply', 'remote_apply'],
  ] as const) {
    it(`is waited for with ${expected}, whatever a reload says, if the server begins with ${configured}`, async () => {
      await reload(`set synchronous_commit to '${configured}'`);
      try {
        const began = await pid();
        expect(await synchronousCommit()).to.equal(expected);
        for (const later of ['off', 'local']) {
          await reload(`set synchronous_commit to '${later}'`);
          // Another session shows when the server has read its configuration.
          await eventually(async () => (await own.sql('show synchronous_commit'))[0]?.synchronous_commit === later);
          await pause(SIGNAL_MS);
          expect([await pid(), await synchronousCommit()]).to.deep.equal([began, expected]);
        }
      } finally {
        await reload('reset synchronous_commit');
      }
    });
  }

  /** A trigger of another tool. @param when it fires: at the commit, or with the statement */
  async function warnWith(statement: string, when: 'commit' | 'statement' = 'commit'): Promise<void> {
    await own.sql(`create or replace function warning() returns trigger language plpgsql as
      $$ begin ${statement}; return null; end $$`);
    const kind = when === 'commit' ? 'constraint trigger' : 'trigger';
    const deferred = when === 'commit' ? 'deferrable initially deferred' : '';
    await own.sql(`create ${kind} warning after insert on accepted_signals ${deferred}
      for each row execute function warning()`);
  }
  const note = () => connections.transact((run) => run(NOTE));

  it('is one without an answer, if a deferred trigger warns, whatever its SQLSTATE', async () => {
    await warnWith("raise warning 'of the owner' using errcode = '00000'");
    expectWarned(await errorOf(note));
  });

  it('is one without an answer, if there was no transaction in progress', async () => {
    const again = { name: undefined, text: 'commit' };
    const twice = connections.transact(async (run) => {
      await run(WRITE);
      await run(again);
    });
    expectWarned(await errorOf(() => twice));
  });

  for (const level of ['log', 'info', 'notice', 'debug']) {
    it(`is answered, if a trigger says something of a lower level: ${level}`, async () => {
      const lowered = "perform set_config('client_min_messages', 'debug5', true)";
      await warnWith(`${lowered}; raise ${level} 'of the owner'`);
      await note();
    });
  }

  it('is answered, if the warning came with a statement before it, also in one packet', async () => {
    await warnWith("raise warning 'of the owner'", 'statement');
    await note();
    await connections.readThenWrite(
      (run) => run(PID),
      (send) => send({ query: NOTE }),
    );
  });

  it('is one without an answer, if a deferred trigger warns in the packet of its statements', async () => {
    await warnWith("raise warning 'of the owner'");
    const write = () =>
      connections.readThenWrite(
        (run) => run(PID),
        (send) => send({ query: NOTE }),
      );
    expectWarned(await errorOf(write));
  });

  it('is one without an answer also for a role that hides warnings', async () => {
    await own.sql("alter role serving set client_min_messages to 'error'");
    try {
      await warnWith("raise warning 'of the owner'");
      expectWarned(await errorOf(note));
    } finally {
      await own.sql('alter role serving reset client_min_messages');
    }
  });
});

describe('the severity of a notice', () => {
  const isWarned = (notice: object): boolean => {
    const client = Object.assign(new EventEmitter(), { query: () => undefined }) as unknown as pg.Client;
    watchCommits(client);
    client.emit('notice', notice as never);
    try {
      expectUnwarned(client);
      return false;
    } catch {
      return true;
    }
  };

  for (const [title, notice, expected] of [
    ['a warning in German', { severity: 'WARNUNG', code: '01000' }, true],
    ['a warning in English with the SQLSTATE of a success', { severity: 'WARNING', code: '00000' }, true],
    ['a warning of an administrator’s command, in French', { severity: 'ATTENTION', code: '57P01' }, true],
    ['a notice without fields', {}, true],
    ['a notice in German', { severity: 'HINWEIS', code: '00000' }, false],
    ['a line of the log', { severity: 'LOG', code: '00000' }, false],
    ['an information', { severity: 'INFO', code: '00000' }, false],
  ] as const) {
    it(`is known in any language of the server: ${title}`, () => {
      expect(isWarned(notice)).to.equal(expected);
    });
  }

  it('of a client that is not watched counts as a warning', () => {
    expect(() => expectUnwarned({} as pg.Client)).to.throw(StorageUnavailable);
  });
});
