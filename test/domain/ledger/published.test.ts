/** The readers of published records, checkpoints and proofs accept only the published format. */

import { expect } from 'chai';
import { readCheckpoint, readProof, readRecord, Unreadable } from '../../../domain/ledger/published.ts';

const HASH = 'ab'.repeat(32);
const record = {
  seq: 7,
  checkpoint: 2,
  ts: '2026-09-17T10:00:00.123Z',
  event: 'token.issued',
  task_id: 'task_a',
  agent_id: 'jira-triage',
  sponsor: 'ada',
  audience: 'https://jira.example',
  scope: 'jira:read',
  jti: 'tok_a',
  delegation_depth: 1,
  decision: 'allow',
  reason: null,
};
const checkpoint = {
  checkpoint_id: 2,
  first_seq: 5,
  last_seq: 9,
  tree_size: 5,
  root_hash: HASH,
  prev_checkpoint_hash: HASH,
  closed_at: '2026-09-17T10:01:00.000Z',
  kid: 'a-key',
  signature: 'cd'.repeat(64),
};
const proof = { seq: 7, checkpoint, leaf_index: 2, audit_path: [HASH, HASH] };

function faultOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).to.be.instanceOf(Unreadable);
    return (error as Error).message;
  }
  throw new Error('the value was read');
}

describe('A published object', () => {
  it('is read with all members, and null means absent', () => {
    expect(readRecord({ ...record, count: 3, detail: 'x' })).to.deep.include({ seq: 7, count: 3, detail: 'x' });
    expect(readRecord({ ...record, decision: null })).to.deep.include({ decision: undefined, reason: undefined });
    expect(readCheckpoint({ ...checkpoint, prev_checkpoint_hash: null })).to.include({ prevCheckpointHash: undefined });
    expect(readProof({ ...proof, audit_path: [] }).path).to.deep.equal([]);
  });

  const wrong: readonly (readonly [string, (changes: object) => unknown, object, readonly [string, unknown][]])[] = [
    [
      'record',
      readRecord,
      record,
      [
        ['seq', -1],
        ['seq', 1.5],
        ['seq', '7'],
        ['seq', 2 ** 53],
        ['checkpoint', undefined],
        ['ts', '2026-09-17T10:00:00Z'],
        ['ts', '2026-09-17T10:00:00.123+00:00'],
        ['ts', '2026-02-30T10:00:00.000Z'],
        ['ts', null],
        ['event', null],
        ['sponsor', undefined],
        ['sponsor', 7],
        ['delegation_depth', -1],
        ['delegation_depth', '1'],
        ['decision', 'Allow'],
        ['decision', 'maybe'],
        ['decision', ''],
        ['count', null],
        ['count', -3],
        ['detail', null],
      ],
    ],
    [
      'checkpoint',
      readCheckpoint,
      checkpoint,
      [
        ['checkpoint_id', -2],
        ['first_seq', null],
        ['tree_size', 0.5],
        ['root_hash', HASH.toUpperCase()],
        ['root_hash', HASH.slice(2)],
        ['root_hash', `${HASH}\n`],
        ['prev_checkpoint_hash', ''],
        ['prev_checkpoint_hash', undefined],
        ['closed_at', '2026-09-17 10:01:00.000Z'],
        ['kid', 7],
        ['signature', undefined],
      ],
    ],
    [
      'proof',
      readProof,
      proof,
      [
        ['seq', -7],
        ['leaf_index', -1],
        ['leaf_index', '2'],
        ['audit_path', HASH],
        ['audit_path', null],
        ['audit_path', [HASH, HASH.toUpperCase()]],
        ['audit_path', [HASH, 7]],
        ['audit_path', [HASH.slice(1)]],
      ],
    ],
  ];
  for (const [kind, read, good, members] of wrong) {
    for (const [name, value] of members) {
      it(`is refused as a ${kind} with ${name} ${JSON.stringify(value)?.slice(0, 40)}`, () => {
        expect(faultOf(() => read({ ...good, [name]: value }))).to.equal(
          `The member ${name} is missing, or is not of the form that is published.`,
        );
      });
    }

    it(`is refused as a ${kind} with an unknown member, because no seal covers it`, () => {
      expect(faultOf(() => read({ ...good, note: 'x' }))).to.equal(`The ${kind} has a member that no ${kind} has.`);
    });

    it(`is refused as a ${kind} when it is not an object`, () => {
      for (const value of [undefined, null, 'text', 7, [good], []]) {
        expect(faultOf(() => read(value as object))).to.equal(`The ${kind} is no object.`);
      }
    });
  }
});
