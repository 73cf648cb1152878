/**
 * Sealers of several processes on one Postgres, while appends with low sequence numbers stay open or are rolled back.
 * On SQLite decisions never overlap, so these cases do not exist there.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import { LIMITS } from '../../../../adapters/storage/postgres/limits.ts';
import { LOCK } from '../../../../adapters/storage/postgres/locks.ts';
import type { Unsealed } from '../../../../application/ports/checkpoints.ts';
import { toMicrosecondText } from '../../../../domain/instant.ts';
import { asProgram } from '../../../../scripts/from-source.ts';
import { raiseSealerLockTimeout, untilWaiting } from '../../../contract/append-lock.ts';
import { checkpointOver, faultsOf, seal } from '../../../contract/minimal-sealer.ts';
import { type FreshDatabase, freshDatabase, type OutsideConnection } from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { byLength } from '../../../support/length.ts';
import type { Storage } from '../../../support/storage.ts';

const CHILD = new URL('./sealing-child.ts', import.meta.url).pathname;
const WRITERS = 8;
/** Records of a transaction while ten sealers seal. The number of transactions is the same. */
const EACH = byLength({ short: 10, full: 50 });
/** Sealers of each process. */
const SEALERS = byLength({ short: [5, 5], full: [4, 3, 3] });

const appendMany = (count: number) => `select append_records(array[entry]) from generate_series(1, ${count}),
  json_populate_record(null::ledger_entry, '{"at": "${toMicrosecondText(NOON)}", "event": "admin.denied"}') entry`;

/**
 * Appends about `total` records in transactions of `each`. Every fifth transaction stays open for `openMs`, and every
 * seventh is rolled back.
 * @returns the number of committed records
 */
async function appendAtOnce(database: FreshDatabase, total: number, each: number, openMs: number): Promise<number> {
  const perWriter = Math.ceil(total / WRITERS / each);
  let kept = 0;
  const write = async (writer: number) => {
    const connection = await reach(database);
    for (let nth = 0; nth < perWriter; nth++) {
      const transaction = nth * WRITERS + writer;
      const rolledBack = transaction % 7 === 3;
      await connection.sql('begin');
      await connection.sql(appendMany(each));
      if (transaction % 5 === 2) await pause(openMs);
      await connection.sql(rolledBack ? 'rollback' : 'commit');
      if (!rolledBack) kept += each;
    }
    await connection.close();
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  return kept;
}

async function reach(database: FreshDatabase, role: 'serving' | 'owner' = 'serving'): Promise<OutsideConnection> {
  const connection = await database.outside?.(role);
  if (connection === undefined) throw new Error('Postgres cannot be reached from outside');
  return connection;
}

const connectionStringOf = ({ settings }: FreshDatabase) => String(settings['Service:Database:ConnectionString']);

async function startSealers(database: FreshDatabase, sealers: number) {
  const child = spawn(process.execPath, [...asProgram(CHILD)], {
    env: { ...process.env, DATABASE: connectionStringOf(database), SEALERS: String(sealers) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let hasEnded = false;
  const ended = once(child, 'close').then(() => {
    hasEnded = true;
  });
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  await Promise.race([once(lines, 'line'), once(child, 'exit')]);
  return {
    /** @returns the number of checkpoints that this process added */
    async stop(): Promise<number> {
      child.stdin.end();
      if (!hasEnded) await ended;
      expect(child.exitCode).to.equal(0);
      return Number(/^added (\d+)$/.exec(said.at(-1) ?? '')?.[1]);
    },
  };
}

describe('sealing while others append, on Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  beforeEach(async function () {
    this.timeout(120_000);
    database = await freshDatabase('postgres');
    storage = await database.open();
  });
  afterEach(async () => {
    await storage.close();
    await database.drop();
  });

  const sealTheRest = async () => {
    while ((await seal(storage.checkpoints)) !== 'nothing');
  };
  const treeSizes = async () => (await storage.checkpoints.page(0, 100_000)).map(({ treeSize }) => treeSize);

  it(`puts each of ${400 * EACH} records into exactly one checkpoint, with ten sealers on ${SEALERS.length} processes`, async function () {
    this.timeout(120_000);
    const children = await Promise.all(SEALERS.map((sealers) => startSealers(database, sealers)));
    const kept = await appendAtOnce(database, 468 * EACH, EACH, 40);
    const added = await Promise.all(children.map((child) => child.stop()));
    await sealTheRest();
    expect(kept).to.be.at.least(400 * EACH);
    const sizes = await treeSizes();
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(kept);
    expect(await faultsOf(storage.checkpoints)).to.deep.equal([]);
    const outside = await reach(database);
    const [last] = await outside.sql('select max(last_seq)::integer as seq from checkpoints');
    await outside.close();
    expect(last?.seq).to.be.greaterThan(kept);
    expect(Math.min(...added)).to.be.greaterThan(0);
    expect(sizes.length).to.be.greaterThan(20);
  });

  it('waits for an open append with a low number, and does not delay later appends', async () => {
    const [slow, quick] = [await reach(database), await reach(database)];
    await raiseSealerLockTimeout(database);
    await slow.sql('begin');
    await slow.sql(appendMany(1));
    await quick.sql(appendMany(2));
    const sealing = seal(storage.checkpoints);
    await untilWaiting(quick, 1);
    expect(await Promise.race([sealing, pause(50, 'waiting')])).to.equal('waiting');
    await slow.sql('commit');
    expect(await sealing).to.deep.include({ firstSeq: 1, lastSeq: 3, treeSize: 3 });
    await slow.close();
    await quick.close();
  });

  it('gives up before later appends time out, and seals the open append in a later attempt, after it commits', async () => {
    const slow = await reach(database);
    const [fence] = await slow.sql(`select option_value as lock_timeout
      from pg_proc, pg_options_to_table(proconfig) where proname = 'unsealed' and option_name = 'lock_timeout'`);
    expect(fence?.lock_timeout).to.equal('1s');
    expect(LIMITS.serving.lock).to.equal(2_000);
    await slow.sql('begin');
    await slow.sql(appendMany(1));
    const sealing = seal(storage.checkpoints).catch((error: unknown) => error);
    await untilWaiting(slow, 1);
    const [appending] = [storage.ledger.append({ at: NOON, event: 'admin.denied', decision: 'deny' })];
    expect(await sealing).to.have.property('name', 'StorageUnavailable');
    await appending;
    await slow.sql('commit');
    expect(await seal(storage.checkpoints)).to.deep.include({ firstSeq: 1, lastSeq: 2, treeSize: 2 });
    await slow.close();
  });

  describe('Sealing in short passes', () => {
    /** Appends records while `pass` seals them. Returns the faults of the checkpoints. */
    const faultsWith = async (pass: () => Promise<void>, sealers = 1) => {
      await raiseSealerLockTimeout(database);
      let appending = true;
      const sealOn = async () => {
        while (appending) {
          await pass();
          await pause(5);
        }
      };
      const sealing = Array.from({ length: sealers }, sealOn);
      await appendAtOnce(database, 800, 5, 20);
      appending = false;
      await Promise.all(sealing);
      await sealTheRest();
      return faultsOf(storage.checkpoints);
    };

    it('leaves no fault in the checkpoints', async () => {
      expect(await faultsWith(async () => void (await seal(storage.checkpoints)), 3)).to.deep.equal([]);
    });

    it('would leave faults if an append took its number before the lock on the ledger (the fence)', async () => {
      const owner = await reach(database, 'owner');
      const [row] = await owner.sql("select pg_get_functiondef('append_records'::regproc) as definition");
      const definition = String(row?.definition);
      const fence = /perform pg_advisory_xact_lock_shared\(.*?\);/.exec(definition)?.[0] ?? 'no fence';
      // A decision may do other work between the number and the lock, which this sleep simulates.
      const late = `perform pg_sleep(0.005); ${fence} end $function$`;
      // Without the refusal of numbers that are sealed already, which would stop some of these appends.
      const refusal = /raise exception 'ledger_seq was set back.*?;/.exec(definition)?.[0] ?? 'no refusal';
      const wrong = definition
        .replace(fence, '')
        .replace(refusal, 'null;')
        .replace(/\bend \$function\$/, late);
      expect([wrong.split(fence), wrong.split(refusal)].map(({ length }) => length)).to.deep.equal([2, 1]);
      await owner.sql(wrong);
      await owner.close();
      const faults = await faultsWith(async () => void (await seal(storage.checkpoints)), 3);
      expect(faults.join()).to.match(/sealed \d+ records and holds/);
    });

    it('would leave faults if the sealer read the records in the statement that takes the fence', async () => {
      const faults = await withClient(database, (client) =>
        faultsWith(async () => {
          const unsealed = await newestRange(
            client,
            `with fence as materialized (select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0))
              select l.seq from fence, ledger l where l.seq > $1 order by l.seq`,
          );
          if (unsealed !== undefined) await storage.checkpoints.add(checkpointOver(unsealed, unsealed.seqs));
        }),
      );
      expect(faults.join()).to.match(/sealed \d+ records and holds/);
    });

    it('leaves faults if the sealer reads the records in a repeatable read transaction', async () => {
      const faults = await withClient(database, (client) =>
        faultsWith(async () => {
          await client.query('begin isolation level repeatable read');
          await client.query(`select pg_advisory_xact_lock(${LOCK.ledgerFence}, 0)`);
          const unsealed = await newestRange(client, 'select seq from ledger where seq > $1 order by seq');
          await client.query('commit');
          if (unsealed !== undefined) await storage.checkpoints.add(checkpointOver(unsealed, unsealed.seqs));
        }),
      );
      expect(faults.join()).to.match(/sealed \d+ records and holds/);
    });

    async function newestRange(client: pg.Client, text: string) {
      const previous = (await storage.checkpoints.page(0, 100_000)).at(-1);
      const { rows } = await client.query<{ seq: string }>(text, [previous?.lastSeq ?? 0]);
      const seqs = rows.map((row) => Number(row.seq));
      const lastSeq = seqs.at(-1);
      if (lastSeq === undefined) return undefined;
      const unsealed: Unsealed = { firstSeq: (previous?.lastSeq ?? 0) + 1, lastSeq, previous };
      return { ...unsealed, seqs };
    }
  });
});

/** Opens a connection for one sealer, whose passes do not overlap. */
async function withClient<Answer>(database: FreshDatabase, work: (client: pg.Client) => Promise<Answer>) {
  const client = new pg.Client({ connectionString: connectionStringOf(database) });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
