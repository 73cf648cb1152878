import { expect } from 'chai';
import type { CheckpointVerifier } from '../../../application/ports/keys.ts';
import type { DepartedMonth } from '../../../domain/ledger/archived-part.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { archivingOf, atTime, departedMonth, oldArchivingOf } from '../../support/ledger/archivings.ts';
import { faultOf, type LedgerFixture, ledgerFixture, sealSome } from '../../support/ledger-fixture.ts';

const NOVEMBER = '2026-11-03T10:00:00Z';

/** What `audit-archive` says of the ledger that `threeMonths` makes. */
const SEPTEMBER = departedMonth('2026-09', [1, 2], [1, 7]);
const OCTOBER = departedMonth('2026-10', [3, 3], [8, 9]);

describe('verifying a ledger with archived months', () => {
  let fixture: LedgerFixture;
  beforeEach(async () => {
    fixture = await ledgerFixture();
  });
  afterEach(() => fixture.close());

  const run = (sql: string) => fixture.withoutTriggers.exec(sql);

  async function append(...times: readonly string[]): Promise<void> {
    for (const at of times) {
      await fixture.storage.ledger.append({ at: atTime(at), event: 'admin.denied', decision: 'deny' });
    }
  }

  /** A record that names a key, in October. */
  const nameKey = (thumbprint: string) =>
    fixture.storage.ledger.append({
      at: atTime('2026-10-01T00:00:02Z'),
      event: 'key.retired',
      decision: 'allow',
      reason: 'checkpoint_key',
      detail: thumbprint,
    });

  const seal = (at: string) => fixture.seal({ clock: { now: () => atTime(at) } });

  /** Checkpoint 2 has two records of September and two of October. */
  async function threeMonths(): Promise<void> {
    await append('2026-09-17T10:00:00Z', '2026-09-17T10:00:01Z', '2026-09-17T10:00:02Z');
    await seal('2026-09-17T10:01:00Z');
    await append('2026-09-30T23:59:58Z', '2026-09-30T23:59:59Z', '2026-10-01T00:00:00Z', '2026-10-01T00:00:01Z');
    await seal('2026-10-01T00:00:30Z');
    await append('2026-10-20T10:00:00Z', '2026-10-20T10:00:01Z');
    await seal('2026-10-20T10:01:00Z');
  }

  async function record(entry: LedgerEntry): Promise<void> {
    await fixture.storage.ledger.append(entry);
    await seal('2026-11-03T10:01:00Z');
  }

  const leaveBefore = (time: string) =>
    run(`delete from ledger where ts < ${atTime(time)} and event <> 'audit.archived'`);
  const leaveSeptember = () => leaveBefore('2026-10-01T00:00:00Z');
  const deletedFrom = (checkpointId: number, sealed: number, held: number) => ({
    kind: 'tree_size',
    checkpointId,
    sealed,
    held,
  });

  it('counts the checkpoints whose month a sealed record names, and verifies the records of all others', async () => {
    await threeMonths();
    await record(archivingOf(NOVEMBER, SEPTEMBER));
    expect((await fixture.verify()).counts).to.deep.equal({ checkpoints: 4, records: 10, archived: 0, unsealed: 0 });
    leaveSeptember();
    const verdict = await fixture.verify();
    expect(faultOf(verdict)).to.equal(undefined);
    expect(verdict.counts).to.deep.equal({ checkpoints: 4, records: 3, archived: 2, unsealed: 0 });
    await record(archivingOf(NOVEMBER, SEPTEMBER, OCTOBER));
    leaveBefore('2026-11-01T00:00:00Z');
    expect((await fixture.verify()).counts).to.include({ checkpoints: 5, archived: 3, records: 2 });
    run('update checkpoints set closed_at = closed_at - 1000 where checkpoint_id = 1');
    expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'invalid_signature', checkpointId: 1 });
  });

  const listed = (before: string) => `insert into ledger_archives
    (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
    values ('2026-09', ${atTime(before)}, 1, 1, 2, 1, 7)`;

  const forgeries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['nothing', async () => undefined],
    ['a row of ledger_archives', async () => run(listed('2026-10-01T00:00:00Z'))],
    ['a row of ledger_archives with a time within a month', async () => run(listed('2026-09-30T23:59:59Z'))],
    ['a record that is not sealed', () => fixture.storage.ledger.append(archivingOf(NOVEMBER, SEPTEMBER))],
    ['a record of another event', () => record({ ...archivingOf(NOVEMBER, SEPTEMBER), event: 'key.retired' })],
    ['a record without a detail', () => record({ ...archivingOf(NOVEMBER, SEPTEMBER), detail: undefined })],
    ['a record that is no JSON', () => record({ ...archivingOf(NOVEMBER, SEPTEMBER), detail: 'all of it' })],
    ['a record whose detail is null', () => record({ ...archivingOf(NOVEMBER, SEPTEMBER), detail: 'null' })],
    ['a record without checkpoints', () => record(archivingOf(NOVEMBER, departedMonth('2026-09')))],
    [
      'a record whose range begins later',
      () => record(archivingOf(NOVEMBER, departedMonth('2026-09', [2, 2], [4, 7]))),
    ],
    ['a record with a gap', () => record(archivingOf(NOVEMBER, departedMonth('2026-08', [1, 1], [1, 3]), OCTOBER))],
    ['a record of months out of order', () => record(archivingOf(NOVEMBER, departedMonth('2026-10'), SEPTEMBER))],
    [
      'a record of a month that is not over',
      () => record(archivingOf('2026-10-31T23:59:59Z', departedMonth('2026-10', [1, 2], [1, 7]))),
    ],
    [
      'a record of numbers that are not numbers',
      () => record(archivingOf(NOVEMBER, departedMonth('2026-09', [1, 2.5], [1, 7]))),
    ],
    [
      'a record of more than precedes it',
      () => record(archivingOf(NOVEMBER, departedMonth('2026-09', [1, 4], [1, 10]))),
    ],
  ];
  for (const [what, forge] of forgeries) {
    it(`does not believe that records were archived because of ${what}`, async () => {
      await threeMonths();
      await forge();
      leaveSeptember();
      expect(faultOf(await fixture.verify())).to.deep.equal(deletedFrom(1, 3, 0));
    });
  }

  it('names the first checkpoint that the record does not name', async () => {
    const cases: readonly (readonly [DepartedMonth, unknown])[] = [
      [departedMonth('2026-09', [1, 1], [1, 3]), deletedFrom(2, 4, 2)],
      // The range of checkpoint 2 ends with another number.
      [departedMonth('2026-09', [1, 2], [1, 8]), deletedFrom(2, 4, 2)],
      [departedMonth('2026-09', [1, 2], [1, 6]), deletedFrom(2, 4, 2)],
      // The end of August is before checkpoint 2, and the end of October after its remaining records.
      [departedMonth('2026-08', [1, 2], [1, 7]), deletedFrom(2, 4, 2)],
      [departedMonth('2026-10', [1, 2], [1, 7]), deletedFrom(2, 4, 2)],
    ];
    for (const [month, fault] of cases) {
      await fixture.close();
      fixture = await ledgerFixture();
      await threeMonths();
      await record(archivingOf(NOVEMBER, month));
      leaveSeptember();
      expect(faultOf(await fixture.verify()), JSON.stringify(month)).to.deep.equal(fault);
    }
  });

  it('believes no record that was inserted into a range that is sealed, or into the checkpoint that it excuses', async () => {
    const entry = archivingOf(NOVEMBER, SEPTEMBER);
    for (const [seq, id] of [
      [9, 3],
      [8, 3],
      [7, 2],
      [3, 1],
      [1, 1],
    ] as const) {
      await fixture.close();
      fixture = await ledgerFixture();
      await threeMonths();
      leaveSeptember();
      fixture.withoutTriggers
        .prepare("insert or replace into ledger (seq, ts, event, decision, detail) values (?, ?, ?, 'allow', ?)")
        .run(seq, entry.at, entry.event, entry.detail);
      const fault = faultOf(await fixture.verify());
      expect(fault, String(seq)).to.have.property('checkpointId').that.is.at.most(id);
    }
  });

  describe('with the records of September archived', () => {
    beforeEach(async () => {
      await threeMonths();
      await record(archivingOf(NOVEMBER, SEPTEMBER));
      leaveSeptember();
      expect(faultOf(await fixture.verify())).to.equal(undefined);
    });

    const insert = (seq: number, at: string) =>
      `insert into ledger (seq, ts, event, decision) values (${seq}, ${atTime(at)}, 'token.issued', 'allow')`;
    const changes: readonly (readonly [string, string, unknown])[] = [
      [
        'a record inserted into a checkpoint of the middle of the month',
        insert(2, '2026-11-02T10:00:00Z'),
        deletedFrom(1, 3, 1),
      ],
      [
        'a record of the archived month left in the checkpoint across its end',
        insert(4, '2026-09-30T23:59:58Z'),
        deletedFrom(2, 4, 3),
      ],
      ['a record deleted that stays', 'delete from ledger where seq = 8', deletedFrom(3, 2, 1)],
      [
        'a record changed that stays',
        "update ledger set reason = 'x' where seq = 8",
        { kind: 'root_mismatch', checkpointId: 3 },
      ],
      [
        'as many records as were sealed, but others',
        `${insert(4, '2026-10-01T00:00:00Z')}; ${insert(5, '2026-10-01T00:00:00Z')}`,
        { kind: 'root_mismatch', checkpointId: 2 },
      ],
      ['the record of the archive deleted', "delete from ledger where event = 'audit.archived'", deletedFrom(1, 3, 0)],
      [
        'the record of the archive changed',
        "update ledger set detail = replace(detail, 'abab', 'cdcd')",
        { kind: 'root_mismatch', checkpointId: 4 },
      ],
      [
        'the record of the archive dated back',
        `update ledger set ts = ${atTime('2026-10-25T00:00:00Z')} where event = 'audit.archived'`,
        { kind: 'root_mismatch', checkpointId: 4 },
      ],
    ];
    for (const [what, sql, fault] of changes) {
      it(`finds ${what}`, async () => {
        run(sql);
        run(listed('2026-10-01T00:00:00Z'));
        expect(faultOf(await fixture.verify())).to.deep.equal(fault);
      });
    }

    it('names the last verified checkpoint before the archived ones, if no verified record vouches for them', async () => {
      run("update ledger set detail = detail || ' ' where event = 'audit.archived'");
      const verdict = await fixture.verify();
      expect(faultOf(verdict)).to.deep.equal({ kind: 'root_mismatch', checkpointId: 4 });
      run('delete from checkpoints where checkpoint_id = 4');
      const unsealed = await fixture.verify();
      expect(faultOf(unsealed)).to.deep.equal(deletedFrom(1, 3, 0));
      expect(unsealed.counts).to.include({ checkpoints: 0, records: 0, archived: 0 });
      expect(unsealed.lastMark).to.equal(undefined);
    });
  });

  it('believes records of an earlier release, which name one month each', async () => {
    await threeMonths();
    await record(oldArchivingOf(NOVEMBER, SEPTEMBER));
    leaveSeptember();
    expect((await fixture.verify()).counts).to.include({ archived: 2 });
    await record(oldArchivingOf(NOVEMBER, OCTOBER));
    leaveBefore('2026-11-01T00:00:00Z');
    expect((await fixture.verify()).counts).to.include({ archived: 3 });
    run('delete from ledger where seq = 11');
    expect(faultOf(await fixture.verify())).to.have.property('kind', 'tree_size');
  });

  it('believes no recorded key for a record that remains of a checkpoint whose others were archived', async () => {
    await append('2026-09-17T10:00:00Z');
    await seal('2026-09-17T10:01:00Z');
    await append('2026-09-30T23:59:58Z', '2026-10-01T00:00:00Z');
    await nameKey('thumb');
    await seal('2026-10-01T00:00:30Z');
    const [first] = await fixture.storage.checkpoints.page(0, 1);
    const only = (isFirst: boolean): CheckpointVerifier => ({
      verify: async (_kid, _text, signature) =>
        (signature === first?.signature) === isFirst ? 'verified' : 'unknown_key',
    });
    const keys = { verifier: only(false), recorded: [{ kid: 'former', thumbprint: 'thumb', verifier: only(true) }] };
    expect(await fixture.verify(keys)).to.have.property('kind', 'intact');
    await record(archivingOf(NOVEMBER, departedMonth('2026-09', [1, 2], [1, 4])));
    leaveSeptember();
    expect(faultOf(await fixture.verify(keys))).to.deep.equal({ kind: 'unknown_key', checkpointId: 1 });
  });

  it('detects that a month is archived during the verification', async () => {
    await threeMonths();
    const { checkpoints } = fixture.storage;
    let pages = 0;
    const ledger = {
      ...checkpoints,
      async page(...asked: Parameters<typeof checkpoints.page>) {
        const page = await checkpoints.page(...asked);
        if (pages++ === 0) {
          await record(archivingOf(NOVEMBER, SEPTEMBER));
          leaveSeptember();
        }
        return page;
      },
    };
    expect((await fixture.verify({ ledger })).counts).to.include({ checkpoints: 4, archived: 2, records: 3 });
  });

  it('detects that a month is archived between two pages of a checkpoint', async () => {
    const { lastSeq } = await fixture.sealed(1200);
    const { checkpoints } = fixture.storage;
    let pages = 0;
    const ledger = {
      ...checkpoints,
      async records(...asked: Parameters<typeof checkpoints.records>) {
        const page = await checkpoints.records(...asked);
        if (pages++ === 0) {
          await record(archivingOf(NOVEMBER, departedMonth('2026-09', [1, 1], [1, lastSeq])));
          leaveBefore('2026-10-01T00:00:00Z');
        }
        return page;
      },
    };
    expect((await fixture.verify({ ledger })).counts).to.include({ archived: 1, records: 1 });
  });

  it('does not mistake altered or inserted records for archived records', async () => {
    await sealSome(fixture, 2);
    run("update ledger set reason = 'x' where seq = 7");
    expect(faultOf(await fixture.verify())).to.deep.equal({ kind: 'root_mismatch', checkpointId: 2 });
    run("insert into ledger (seq, ts, event, decision) values (8, 1, 'x', 'allow')");
    expect(faultOf(await fixture.verify())).to.have.property('kind', 'tree_size');
  });
});
