/** Alters exports. Anyone can recompute roots and links, so only the signatures prove the origin of an export. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { storedExport } from '../../../adapters/platform/export-folder.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { type ExportVerification, verifyExport } from '../../../application/ledger/verify-export.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import type { ExportFault } from '../../../domain/ledger/verification.ts';
import {
  at,
  counted,
  type Export,
  exported,
  monthOf,
  present,
  rebuilt,
  recordOf,
  SEPTEMBER,
  signed,
  swapped,
  textOf,
  through,
  withCheckpoint,
  withRecord,
} from '../../support/ledger/altered-export.ts';
import { makeSealingKey, type SealingKey } from '../../support/ledger/sealing-key.ts';
import {
  APPROVAL_ID,
  type ApprovalStep,
  approvalEntries,
  CONTRADICTORY,
  ORDERLY,
  WITHOUT_REQUEST,
} from '../../support/log/approval-records.ts';

const TASK = makeTaskId('01M31S7W68TMK7WDX8YKPSYTES');
const OTHER_ROOT = 'ab'.repeat(32);

describe('verifying an export without the database', () => {
  let key: SealingKey;
  let sound: Export;
  let directory: string;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-export-'));
    key = await makeSealingKey();
    sound = await exported(key);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  async function verdictOn(one: Export, more: Partial<ExportVerification> = {}) {
    const path = join(directory, 'export.gz');
    writeFileSync(path, gzipSync(textOf(one)));
    return verifyExport(storedExport(path), { hash: sha256Bytes, verifier: key.verifier, ...more });
  }

  /** The fault, and the number of checkpoints that were verified before it. */
  async function faultOf(one: Export, more: Partial<ExportVerification> = {}): Promise<[ExportFault, number]> {
    const verdict = await verdictOn(one, more);
    if (verdict.kind !== 'broken') throw new Error('the export verified');
    return [verdict.fault, verdict.counts.checkpoints];
  }

  it('accepts an export as it was written, and names its checkpoints', async () => {
    const counts: [number, number][] = [];
    const verdict = await verdictOn(sound, { progress: (done, total) => counts.push([done, total]) });
    const [first, , last] = sound.checkpoints;
    // The last checkpoint was closed two weeks after its oldest record: a warning, not a fault.
    const late = { count: 1, first: { checkpointId: 3, seconds: 1_173_599.999993 } };
    expect(verdict).to.deep.equal({ kind: 'intact', header: sound.header, first, last, late });
    expect(counts).to.deep.equal([
      [4, 12],
      [7, 12],
      [12, 12],
    ]);
  });

  it('accepts an export of an empty month, and one that begins after the first checkpoint', async () => {
    const header = { month: monthOf('2026-09'), checkpoints: 0, records: 0 };
    const empty = await verdictOn({ header, checkpoints: [], records: [] });
    expect(empty).to.deep.equal({ kind: 'intact', header, first: undefined, last: undefined });
    expect((await verdictOn(through(sound, 2, 3))).kind).to.equal('intact');
  });

  it('reports how many checkpoints were closed late, and the first of them', async () => {
    const [first, second, third] = sound.checkpoints.map((each) => ({ ...each, closedAt: at('2026-12-01T00:00:00Z') }));
    const late = await signed(rebuilt({ ...sound, checkpoints: [first, second, third].map(present) }), key);
    expect(await verdictOn(late, { interval: 60 })).to.deep.nested.include({
      kind: 'intact',
      'late.count': 3,
      'late.first.checkpointId': 1,
    });
    expect(await verdictOn(through(sound, 1, 2), { interval: 60 })).not.to.have.property('late');
  });

  describe('with records of one approval, as an owner of the database can have them sealed', () => {
    const entries = (steps: readonly ApprovalStep[]) => approvalEntries(steps, { taskId: TASK });
    /** The first records, from a number on, in an export that the key of the service signed. */
    const sealed = (from: number, steps: readonly ApprovalStep[], base = sound) =>
      signed(
        rebuilt(
          entries(steps).reduce((one, { event, taskId, agentId, sponsor, audience, detail }, nth) => {
            return withRecord(one, from + nth, { event, taskId, agentId, sponsor, audience, detail });
          }, base),
        ),
        key,
      );

    it('accepts each order that the service records', async () => {
      for (const steps of ORDERLY) expect((await verdictOn(await sealed(2, steps))).kind).to.equal('intact');
    });

    for (const [name, [steps, problem, nth]] of Object.entries(CONTRADICTORY)) {
      it(`refuses ${name}`, async () => {
        const fault = { kind: 'approval_order', seq: 2 + nth, approvalId: APPROVAL_ID, problem };
        expect((await faultOf(await sealed(2, steps)))[0]).to.deep.equal(fault);
      });
    }

    it('refuses an answer without a question only if the export begins with the first checkpoint', async () => {
      for (const steps of WITHOUT_REQUEST) {
        const [fault] = await faultOf(await sealed(5, steps));
        expect(fault).to.deep.equal({ kind: 'approval_order', seq: 5, approvalId: APPROVAL_ID, problem: 'no_request' });
        const later = through(await sealed(5, steps), 2, 3);
        expect((await verdictOn(later)).kind).to.equal('intact');
      }
    });
  });

  for (const altered of [1, 2, 3]) {
    it(`refuses an export with an altered signature of checkpoint ${altered} of 3`, async () => {
      const forged = withCheckpoint(sound, altered, ({ signature }) => ({
        signature: `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`,
      }));
      expect(await faultOf(forged)).to.deep.equal([{ kind: 'invalid_signature', checkpointId: altered }, altered - 1]);
    });
  }

  it('refuses the signature of another checkpoint', async () => {
    const [first] = sound.checkpoints;
    const forged = withCheckpoint(sound, 2, () => ({ signature: first?.signature ?? '' }));
    expect(await faultOf(forged)).to.deep.equal([{ kind: 'invalid_signature', checkpointId: 2 }, 1]);
  });

  it('refuses altered records with recomputed roots and links under the old signatures', async () => {
    const forged = rebuilt(withRecord(sound, 6, { sponsor: 'eve' }));
    expect(await faultOf(forged)).to.deep.equal([{ kind: 'invalid_signature', checkpointId: 2 }, 1]);
  });

  it('refuses a forged export, signed with another key under the id of that key or a published one', async () => {
    const stranger = await makeSealingKey();
    const altered = withRecord(sound, 1, { sponsor: 'eve' });
    const [unknown, impostor] = [
      await signed(rebuilt(altered, stranger.signer.kid), stranger),
      await signed(rebuilt(altered, key.signer.kid), stranger),
    ];
    expect(await faultOf(unknown)).to.deep.equal([{ kind: 'unknown_key', checkpointId: 1 }, 0]);
    expect(await faultOf(impostor)).to.deep.equal([{ kind: 'invalid_signature', checkpointId: 1 }, 0]);
    const own = await signed(rebuilt(altered), key);
    expect((await verdictOn(own)).kind, 'only the key makes the difference').to.equal('intact');
  });

  it('refuses a checkpoint with an altered range, time, id or key', async () => {
    const end = sound.checkpoints.at(-1);
    for (const change of [
      { closedAt: SEPTEMBER },
      { kid: 'another' },
      { lastSeq: (end?.lastSeq ?? 0) + 1 },
      { treeSize: 4 },
      { rootHash: OTHER_ROOT },
    ]) {
      const [fault, verified] = await faultOf(withCheckpoint(sound, 3, () => change));
      expect(fault.kind, JSON.stringify(change)).to.equal('kid' in change ? 'unknown_key' : 'invalid_signature');
      expect(verified).to.equal(2);
    }
  });

  it('refuses a chain with a gap or a wrong link, even if every signature is valid', async () => {
    const holed = { ...sound, checkpoints: sound.checkpoints.filter(({ checkpointId }) => checkpointId !== 2) };
    expect(await faultOf(counted(holed))).to.deep.equal([
      { kind: 'id_not_contiguous', checkpointId: 3, expectedId: 2 },
      1,
    ]);
    const relinked = await signed(
      withCheckpoint(sound, 3, () => ({ prevCheckpointHash: OTHER_ROOT })),
      key,
    );
    expect(await faultOf(relinked)).to.deep.equal([{ kind: 'link_broken', checkpointId: 3 }, 2]);
  });

  const edits: readonly (readonly [string, (one: Export) => Export, ExportFault, number])[] = [
    [
      'a record that was altered',
      (one) => withRecord(one, 6, { reason: 'another' }),
      { kind: 'root_mismatch', checkpointId: 2 },
      1,
    ],
    [
      'a record that is missing',
      (one) => counted({ ...one, records: one.records.filter(({ seq }) => seq !== 6) }),
      { kind: 'tree_size', checkpointId: 2, sealed: 3, held: 2 },
      1,
    ],
    [
      'a record that is there twice',
      (one) => counted({ ...one, records: one.records.flatMap((each) => (each.seq === 6 ? [each, each] : [each])) }),
      { kind: 'out_of_order', seq: 6 },
      1,
    ],
    [
      'two records that changed places',
      (one) => ({ ...one, records: swapped(one.records, 5, 6) }),
      { kind: 'out_of_order', seq: 5 },
      1,
    ],
    [
      'a record that names another checkpoint',
      (one) => withRecord(one, 6, { checkpoint: 3 }),
      { kind: 'wrong_checkpoint', seq: 6 },
      1,
    ],
    [
      'a record after its last checkpoint',
      (one) => counted({ ...one, records: [...one.records, { ...recordOf(one, 12), seq: 13 }] }),
      { kind: 'record_outside', seq: 13 },
      3,
    ],
    [
      'fewer records than its header announces',
      (one) => ({ ...one, header: { ...one.header, records: 13 } }),
      { kind: 'count', of: 'records', announced: 13, held: 12 },
      3,
    ],
    [
      'fewer checkpoints than its header announces',
      () => ({ header: { month: monthOf('2026-09'), checkpoints: 1, records: 0 }, checkpoints: [], records: [] }),
      { kind: 'count', of: 'checkpoints', announced: 1, held: 0 },
      0,
    ],
    [
      'more checkpoints than its header announces',
      (one) => ({ ...one, header: { ...one.header, checkpoints: 2 } }),
      { kind: 'malformed_line', line: 4 },
      0,
    ],
    [
      'the header of an earlier month',
      (one) => ({ ...one, header: { ...one.header, month: monthOf('2026-08') } }),
      { kind: 'wrong_month', month: monthOf('2026-08') },
      3,
    ],
    [
      'the header of a later month',
      (one) => ({ ...one, header: { ...one.header, month: monthOf('2026-10') } }),
      { kind: 'wrong_month', month: monthOf('2026-10') },
      0,
    ],
  ];
  for (const [what, edit, fault, verified] of edits) {
    it(`refuses ${what}, and names it`, async () => {
      expect(await faultOf(edit(sound))).to.deep.equal([fault, verified]);
    });
  }

  it('confirms only marks of its own checkpoints', async () => {
    const [first, second, third] = sound.checkpoints;
    if (first === undefined || second === undefined || third === undefined) throw new Error('there are three');
    expect((await verdictOn(sound, { marks: [third, first, second] })).kind).to.equal('intact');
    const contradicted = { checkpointId: 2, rootHash: OTHER_ROOT };
    expect(await faultOf(sound, { marks: [first, contradicted] })).to.deep.equal([
      { kind: 'mark_contradicted', checkpointId: 2 },
      1,
    ]);
    for (const [one, mark] of [
      [through(sound, 2, 3), first],
      [through(sound, 1, 2), third],
      [counted({ ...sound, checkpoints: [], records: [] }), first],
    ] as const) {
      const [fault] = await faultOf(one, { marks: [second, mark].slice(one.checkpoints.length === 0 ? 1 : 0) });
      expect(fault).to.deep.equal({ kind: 'mark_outside', checkpointId: mark.checkpointId });
    }
  });
});
