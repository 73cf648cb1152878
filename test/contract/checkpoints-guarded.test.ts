/** The database's own refusals of wrong checkpoints, and a reader's view after months were archived. */

import { expect } from 'chai';
import { plusSeconds } from '../../domain/instant.ts';
import { appendsEntries, type Role } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { raiseSealerLockTimeout, untilWaiting } from './append-lock.ts';
import { expectSqlErrors } from './failing-writes.ts';
import { checkpointOver, sealed, seqsOf } from './minimal-sealer.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry } from './storage-fixtures.ts';

onEveryDatabase('the checkpoints', ({ storage, database, outside, kind }) => {
  const checkpoints = () => storage().checkpoints;
  const roles: readonly (Role | undefined)[] =
    kind.engine === 'postgres' ? ['serving', 'owner', 'superuser'] : [undefined];
  const time = kind.engine === 'postgres' ? "'2026-09-01T00:00:00Z'" : String(Date.parse('2026-09-01') * 1_000);

  before(async () => {
    for (let round = 0; round < 4; round++) {
      for (let nth = 0; nth < 3; nth++) await storage().ledger.append(anEntry('admin.denied'));
      await sealed(checkpoints());
    }
  });

  it('refuse changes, deletions and truncation from every role, and so do the archived months', async () => {
    const owner = await outside();
    await owner.sql(`insert into ledger_archives values ('2026-06', ${time}, ${time}, null, null, null, null)`);
    const contents = async () => [
      await owner.sql('select * from checkpoints order by 1'),
      await owner.sql('select * from ledger_archives order by 1'),
    ];
    const before = await contents();
    for (const role of roles) {
      const statements = [
        "update checkpoints set root_hash = 'another' where checkpoint_id = 2",
        'delete from checkpoints',
        "update ledger_archives set month = '2026-05'",
        'delete from ledger_archives',
        ...(kind.engine === 'postgres'
          ? [
              // SQLite has no triggers for statements, so a statement that finds no row succeeds there.
              "update checkpoints set root_hash = 'another' where checkpoint_id = 99",
              'truncate checkpoints',
              'truncate ledger_archives',
              "insert into checkpoints select * from checkpoints on conflict (checkpoint_id) do update set kid = 'another'",
            ]
          : [
              "insert or replace into checkpoints select checkpoint_id, first_seq, last_seq, tree_size, 'another', prev_checkpoint_hash, closed_at, kid, signature from checkpoints",
              'insert or replace into ledger_archives select * from ledger_archives',
            ]),
      ];
      await expectSqlErrors(await outside(role), statements, /append-only|permission denied/);
    }
    expect(await contents()).to.deep.equal(before);
  });

  if (kind.engine === 'postgres') {
    it('accept a checkpoint from the serving role only through add_checkpoint', async () => {
      const statements = [
        "insert into checkpoints values (99, 100, 101, 2, 'root', 'hash', now(), 'key', 'signature')",
        `insert into ledger_archives values ('2027-01', ${time}, ${time}, 1, 2, 1, 6)`,
        'alter table checkpoints disable trigger all',
        'drop function add_checkpoint',
        'insert into outbox values (1, now(), 0)',
        'delete from outbox_queueing',
        // It would make the append that takes this number fail.
        'update outbox set seq = seq + 1',
      ];
      await expectSqlErrors(await outside('serving'), statements, /permission denied|must be owner/);
    });

    it('refuse a checkpoint with impossible values', async () => {
      await storage().ledger.append(anEntry('admin.denied'));
      const range = await checkpoints().unsealed();
      if (range === undefined) throw new Error('nothing to seal');
      const id = (range.previous?.checkpointId ?? 0) + 1;
      const impossible = [
        "1, 'root', 'hash', 'infinity', 'key', 'signature'",
        "1, 'root', 'hash', '0044-03-15 BC', 'key', 'signature'",
        "1, 'root', 'hash', '10000-01-01Z', 'key', 'signature'",
        "0, 'root', 'hash', now(), 'key', 'signature'",
        "2, 'root', 'hash', now(), 'key', 'signature'",
        "1, 'root', 'hash', now(), 'key', repeat('0', 5000)",
      ].map((values) => `select add_checkpoint(${id}, ${range.firstSeq}, ${range.lastSeq}, ${values})`);
      await expectSqlErrors(await outside('serving'), impossible, /has impossible values/);
      await sealed(checkpoints());
    });

    it('wait for a running append even if it did not look up its time', async () => {
      await raiseSealerLockTimeout(database());
      const connection = await outside('serving');
      await connection.sql('begin');
      await connection.sql(
        appendsEntries(`json_build_array(json_build_object('at', ${time}, 'event', 'admin.denied'))`),
      );
      const sealing = checkpoints().unsealed();
      await untilWaiting(connection, 1);
      await connection.sql('commit');
      expect(await sealing).to.include({ firstSeq: (await sealed(checkpoints())).firstSeq });
    });

    for (const [end, outcome] of [
      ['rollback', 'added'],
      ['commit', 'overtaken'],
    ] as const) {
      it(`let a sealer wait for another one: after its ${end}, the checkpoint is ${outcome}`, async () => {
        await storage().ledger.append(anEntry('admin.denied'));
        const unsealed = await checkpoints().unsealed();
        if (unsealed === undefined) throw new Error('nothing to seal');
        const next = checkpointOver(unsealed, await seqsOf(checkpoints(), unsealed));
        const rival = await outside('serving');
        await rival.sql('begin');
        const values = `${next.checkpointId}, ${next.firstSeq}, ${next.lastSeq}, 1, 'root', 'hash', now(), 'key', 'text'`;
        expect(await rival.sql(`select add_checkpoint(${values}) as added`)).to.deep.equal([{ added: true }]);
        const adding = checkpoints().add(next);
        await untilWaiting(rival, 1);
        await rival.sql(end);
        expect(await adding).to.equal(outcome);
      });
    }

    it('can be read even if both records of a duplicate number are on one page', async () => {
      for (let nth = 0; nth < 3; nth++) await storage().ledger.append(anEntry('admin.denied'));
      const range = await checkpoints().unsealed();
      if (range === undefined) throw new Error('nothing to seal');
      const [from, twice] = [range.lastSeq - 2, range.lastSeq - 1];
      const superuser = await outside('superuser');
      await superuser.sql(`insert into ledger (seq, ts, event) values (${twice}, '2026-10-02 00:00Z', 'forged')`);
      const read = await checkpoints().records(range, from - 1, 2);
      expect(read.map((record) => record.seq)).to.deep.equal([from, twice, twice]);
      const rest = await checkpoints().records(range, twice, 2);
      expect(rest.map((record) => record.seq)).to.deep.equal([twice + 1]);
      await superuser.sql('drop table ledger_2026_10');
    });
  }

  it('are not archived because ledger_archives lists them', async () => {
    const [first, second] = await checkpoints().page(0, 10);
    if (first === undefined || second === undefined) throw new Error('not sealed');
    const owner = await outside();
    await owner.sql(
      `insert into ledger_archives (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
        values ('2026-07', ${time}, ${time}, 1, 2, 1, ${second.lastSeq})`,
    );
    for (const [seq, checkpoint] of [
      [first.firstSeq, first],
      [first.lastSeq, first],
      [second.firstSeq, second],
      [second.lastSeq, second],
    ] as const) {
      expect(await checkpoints().sealing(seq)).to.deep.equal({ kind: 'sealed', checkpoint });
    }
    expect(await checkpoints().sealing(0)).to.deep.equal({ kind: 'not_sealed' });
    expect(await checkpoints().sealing(-5)).to.deep.equal({ kind: 'not_sealed' });
    expect(await checkpoints().archivings()).to.deep.equal([]);
  });

  it('have the records of archived months, newest first, at most a hundred, each with the checkpoint that seals it', async () => {
    const entries = Array.from({ length: 103 }, (_, nth) =>
      anEntry('audit.archived', { at: plusSeconds(NOON, 3600 + nth), detail: `month ${nth}` }),
    );
    for (const entry of entries.slice(0, 102)) await storage().ledger.append(entry);
    const { checkpointId } = await sealed(checkpoints());
    for (const entry of entries.slice(102)) await storage().ledger.append(entry);
    const read = await checkpoints().archivings();
    expect(read.map(({ detail }) => detail)).to.deep.equal(
      entries
        .map(({ detail }) => detail)
        .reverse()
        .slice(0, 100),
    );
    expect(read.slice(0, 2).map(({ checkpoint }) => checkpoint)).to.deep.equal([undefined, checkpointId]);
  });
});
