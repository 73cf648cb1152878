/**
 * The owner of the database, who can remove every trigger, makes a thousand edits. Verification must find and name
 * each. Two changes are left out, because the seal does not cover them: microseconds of a time, and the number of a
 * record within the gap around it.
 */

import { expect } from 'chai';
import fc from 'fast-check';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { verifyLedger } from '../../../application/ledger/verify.ts';
import { instantFromMillis } from '../../../domain/instant.ts';
import type { LedgerFault } from '../../../domain/ledger/log-fault.ts';
import { databases, type OutsideConnection } from '../../support/databases.ts';
import { seal } from '../../support/ledger/fill.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import { type LedgerFixture, ledgerFixture } from '../../support/ledger-fixture.ts';
import { byLength } from '../../support/length.ts';

const EDITS = byLength({ short: 200, full: 1000 });
const SEED = 20_260_917;
const SIZES = [5, 1, 9, 4, 7, 2, 12, 8];
/** Unused sequence numbers before each checkpoint's last record, as rolled-back appends leave them. */
const BURNT = 2;

const TEXTS = ['event', 'task_id', 'agent_id', 'sponsor', 'audience', 'scope', 'jti', 'reason', 'detail'];
const INTEGERS = ['delegation_depth', 'count'];
const CHECKPOINT_TEXTS = ['root_hash', 'prev_checkpoint_hash', 'kid', 'signature'];
const CHECKPOINT_INTEGERS = ['checkpoint_id', 'first_seq', 'last_seq', 'tree_size'];

interface Edit {
  readonly about: string;
  readonly sql: string;
  /** The checkpoint that the verification must name. If the edit changes the id, this is the new id. */
  readonly checkpoint: number | undefined;
}

interface Place {
  readonly seq: number;
  readonly checkpoint: number;
}

/** The edit number `choice` of this record or its checkpoint. */
function editAt({ seq, checkpoint }: Place, gap: number, choice: number, column: number, amount: number): Edit {
  const of = <Item>(items: readonly Item[]) => items[column % items.length];
  const [record, seal] = [`where seq = ${seq}`, `where checkpoint_id = ${checkpoint}`];
  switch (choice) {
    case 0:
    case 1: {
      const name = of(TEXTS);
      return {
        about: name ?? '',
        sql: `update ledger set ${name} = coalesce(${name}, '') || '~' ${record}`,
        checkpoint,
      };
    }
    case 2: {
      const name = of(INTEGERS);
      const sql = `update ledger set ${name} = coalesce(${name}, 0) + ${amount} ${record}`;
      return { about: name ?? '', sql, checkpoint };
    }
    case 3:
      return { about: 'ts', sql: `update ledger set ts = ts + ${amount} * 1000 ${record}`, checkpoint };
    case 4: {
      const other = "case decision when 'allow' then 'deny' else 'allow' end";
      return { about: 'decision', sql: `update ledger set decision = ${other} ${record}`, checkpoint };
    }
    case 5:
      return { about: 'a deletion', sql: `delete from ledger ${record}`, checkpoint };
    case 6: {
      const sql = `insert into ledger select ${gap}, ts, event, task_id, agent_id, sponsor, audience, scope, jti,
        delegation_depth, decision, reason, count, detail from ledger ${record}`;
      return { about: 'an insertion', sql, checkpoint };
    }
    case 7: {
      const name = of(CHECKPOINT_TEXTS);
      const sql = `update checkpoints set ${name} = coalesce(${name}, '') || 'a' ${seal}`;
      return { about: name ?? '', sql, checkpoint };
    }
    case 8: {
      const name = of(CHECKPOINT_INTEGERS);
      const sql = `update checkpoints set ${name} = ${name} + ${1000 + amount} ${seal}`;
      return { about: name ?? '', sql, checkpoint: name === 'checkpoint_id' ? undefined : checkpoint };
    }
    default:
      return {
        about: 'closed_at',
        sql: `update checkpoints set closed_at = closed_at + ${amount} * 1000 ${seal}`,
        checkpoint,
      };
  }
}

const checkpointOf = (fault: LedgerFault): number | undefined =>
  'checkpointId' in fault ? fault.checkpointId : undefined;

describe('tampering with a sealed ledger', function () {
  this.timeout(300_000);
  let fixture: LedgerFixture;
  let places: readonly Place[];
  before(async () => {
    fixture = await ledgerFixture();
    for (const size of SIZES) {
      await fixture.append(size - 1);
      fixture.skipNumbers(BURNT);
      await fixture.sealed(1);
    }
    await fixture.append(3);
    const all = await fixture.storage.checkpoints.page(0, 100);
    places = all.flatMap(({ checkpointId, firstSeq, lastSeq }) =>
      fixture.withoutTriggers
        .prepare<{ seq: number }>('select seq from ledger where seq between ? and ?')
        .all(firstSeq, lastSeq)
        .map(({ seq }) => ({ seq, checkpoint: checkpointId })),
    );
  });
  after(() => fixture.close());

  /** Makes an edit, returns what `judge` finds, and restores the rows. */
  async function tampered<Answer>(sql: string, judge: () => Promise<Answer>): Promise<Answer> {
    fixture.withoutTriggers.exec('drop table if exists kept_ledger; drop table if exists kept_checkpoints');
    fixture.withoutTriggers.exec('create temp table kept_ledger as select * from ledger');
    fixture.withoutTriggers.exec('create temp table kept_checkpoints as select * from checkpoints');
    fixture.withoutTriggers.exec(sql);
    try {
      return await judge();
    } finally {
      fixture.withoutTriggers.exec('begin; delete from ledger; insert into ledger select * from kept_ledger; commit');
      fixture.withoutTriggers.exec(
        'begin; delete from checkpoints; insert into checkpoints select * from kept_checkpoints; commit',
      );
    }
  }

  it(`is found and named after each of ${EDITS} seeded edits, and no fault remains after the rows are restored`, async () => {
    const edit = fc.tuple(fc.nat(), fc.nat({ max: 9 }), fc.nat(), fc.integer({ min: 1, max: 99 }));
    const seen = new Set<string>();
    for (const [index, [where, choice, column, amount]] of fc.sample(edit, { numRuns: EDITS, seed: SEED }).entries()) {
      const place = places[where % places.length];
      const last = places.filter(({ checkpoint }) => checkpoint === place?.checkpoint).at(-1);
      if (place === undefined || last === undefined) throw new Error('no place');
      const { about, sql, checkpoint } = editAt(place, last.seq - 1, choice, column, amount);
      seen.add(about);
      const outcome = await tampered(sql, () => fixture.verify());
      if (outcome.kind !== 'broken') throw new Error(`not found: ${sql}`);
      if (checkpoint !== undefined) expect(checkpointOf(outcome.fault), sql).to.equal(checkpoint);
      if (index % 50 === 0) expect(await fixture.verify(), `undone: ${sql}`).to.have.property('kind', 'intact');
    }
    const columns = [...TEXTS, ...INTEGERS, ...CHECKPOINT_TEXTS, ...CHECKPOINT_INTEGERS, 'ts', 'decision', 'closed_at'];
    expect([...seen].sort()).to.deep.equal([...columns, 'a deletion', 'an insertion'].sort());
    expect(await fixture.verify()).to.deep.include({
      kind: 'intact',
      counts: { checkpoints: SIZES.length, records: places.length, archived: 0, unsealed: 3 },
    });
  });

  it('is found if two neighbouring records are swapped', async () => {
    for (const [index, { seq, checkpoint }] of places.slice(0, -1).entries()) {
      const next = places[index + 1]?.seq ?? 0;
      const sql = [`seq = -1 where seq = ${seq}`, `seq = ${seq} where seq = ${next}`, `seq = ${next} where seq = -1`];
      const outcome = await tampered(sql.map((one) => `update ledger set ${one}`).join(';'), () => fixture.verify());
      if (outcome.kind !== 'broken') throw new Error(`not found: ${seq} and ${next}`);
      expect(outcome.fault).to.deep.equal({ kind: 'root_mismatch', checkpointId: checkpoint });
    }
  });

  it('is found if a checkpoint is removed; a removed last checkpoint is found only with a mark', async () => {
    const marks = (await fixture.storage.checkpoints.page(0, 100)).slice(-1);
    for (let id = 1; id <= SIZES.length; id += 1) {
      const remove = `delete from checkpoints where checkpoint_id = ${id}`;
      const outcome = await tampered(remove, () => fixture.verify());
      expect(outcome).to.have.property('kind', id < SIZES.length ? 'broken' : 'intact');
      expect(await tampered(remove, () => fixture.verify({ marks }))).to.have.property('kind', 'broken');
    }
  });
});

/** The owner can lift the guards. */
async function lift(outside: OutsideConnection, statement: string): Promise<void> {
  await outside.sql(
    `grant delete on ledger to current_user; alter table ledger disable trigger user; ${statement}; alter table ledger enable trigger user`,
  );
}

describe('records with a duplicate number, which Postgres allows', function () {
  this.timeout(120_000);
  const postgres = databases.find(({ engine }) => engine === 'postgres');

  it('are all read, wherever the page boundary falls', async () => {
    const database = await postgres?.fresh();
    const storage = await database?.open();
    const outside = await database?.outside?.();
    if (database === undefined || storage === undefined || outside === undefined) throw new Error('no Postgres');
    await outside.sql(`insert into ledger (seq, ts, event, decision)
      select n, '2026-09-17 12:00Z'::timestamptz + n * interval '1 second', 'admin.denied', 'deny' from generate_series(1, 9) n`);
    await outside.sql(
      "insert into ledger (seq, ts, event, decision) values (4, '2026-10-02 12:00Z', 'admin.denied', 'deny')",
    );
    const range = { firstSeq: 1, lastSeq: 9 };
    for (let limit = 1; limit <= 10; limit += 1) {
      const seqs: number[] = [];
      for (;;) {
        const page = await storage.checkpoints.records(range, seqs.at(-1) ?? 0, limit);
        seqs.push(...page.map(({ seq }) => seq));
        if (page.length < limit) break;
      }
      expect(seqs, `pages of ${limit}`).to.deep.equal([1, 2, 3, 4, 4, 5, 6, 7, 8, 9]);
    }
    await outside.close();
    await storage.close();
    await database.drop();
  });

  it('are a fault, whether they are sealed or not, and the fault names both', async () => {
    const database = await postgres?.fresh();
    const storage = await database?.open();
    const outside = await database?.outside?.();
    if (database === undefined || storage === undefined || outside === undefined) throw new Error('no Postgres');
    const key = await makeSealingKey();
    const { checkpoints } = storage;
    const verify = () =>
      verifyLedger({ ledger: checkpoints, verifier: key.verifier, hash: sha256Bytes, turn: eventLoopTurn });
    const insert = (seq: number, day: number, event: string) =>
      outside.sql(
        `insert into ledger (seq, ts, event, decision) values (${seq}, '2026-10-0${day} 12:00Z', '${event}', 'deny')`,
      );
    const at = async (day: number) =>
      seal(storage, key.signer, instantFromMillis(Date.parse(`2026-10-0${day}T13:00:00Z`)));
    await outside.sql("select setval('ledger_seq', 9)");
    for (const seq of [1, 2, 3, 4]) await insert(seq, 1, 'admin.denied');
    await at(1);
    for (const seq of [5, 6, 7]) await insert(seq, 2, 'token.denied');
    expect(await verify()).to.have.property('kind', 'intact');
    const of = (seq: number, one: string, other: string) => ({ kind: 'number_twice', seq, records: [one, other] });
    const admin = 'admin.denied of 2026-10-01T12:00:00.000Z';
    const token = 'token.denied of 2026-10-02T12:00:00.000Z';
    const added = 'task.revoked of 2026-10-03T12:00:00.000Z';
    // Within a month the table itself refuses the second one, until an owner drops its index.
    await outside.sql('drop index ledger_2026_10_by_seq');
    // The first and the last of a checkpoint, the first and the last unsealed one, and one of another range's end.
    for (const [seq, fault] of [
      [1, of(1, admin, added)],
      [4, of(4, admin, added)],
      [5, of(5, token, added)],
      [7, of(7, token, added)],
    ] as const) {
      await insert(seq, 3, 'task.revoked');
      const outcome = await verify();
      expect('fault' in outcome && outcome.fault).to.deep.equal(fault);
      await lift(outside, "delete from ledger where event = 'task.revoked'");
    }
    expect(await verify()).to.have.property('kind', 'intact');
    // The service seals no checkpoint over them. The range has a hole, so the checkpoint would not be larger than it.
    await insert(9, 2, 'token.denied');
    await insert(9, 3, 'task.revoked');
    expect(String(await at(4).catch((error: unknown) => error))).to.include('used_twice');
    const sealed = await verify();
    expect('fault' in sealed && sealed.fault).to.deep.equal(of(9, token, added));
    await outside.close();
    await storage.close();
    await database.drop();
  });
});
