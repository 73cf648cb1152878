/** Each screen with records or checkpoints as JSON escapes invisible characters. */

import { expect } from 'chai';
import { renderCheckpoints } from '../../../../../adapters/http/console/screens/checkpoints.ts';
import { renderRecord } from '../../../../../adapters/http/console/screens/record.ts';
import { renderTask } from '../../../../../adapters/http/console/screens/task.ts';
import { timelineOf } from '../../../../../adapters/http/console/timeline.ts';
import { type Checkpoint, presentCheckpoint } from '../../../../../domain/ledger/checkpoint.ts';
import { type LedgerRecord, presentRecord } from '../../../../../domain/ledger/record.ts';
import { aListedTask } from '../../../../support/console/views.ts';
import { NOON } from '../../../../support/domain-fixtures.ts';

/** A right-to-left override, a space that does not break, a tag character and a zero-width space. */
const HIDDEN = 'ada\u202egro.elpmaxe\u00a0\u{e0041}\u200bé😀';
const ESCAPED = 'ada\\u202egro.elpmaxe\\u00a0\\udb40\\udc41\\u200bé😀';

const task = aListedTask();
const record: LedgerRecord = {
  seq: 7,
  checkpoint: 2,
  at: NOON,
  event: 'token.denied',
  decision: 'deny',
  reason: 'scope_widened',
  taskId: task.taskId,
  sponsor: HIDDEN,
};
const checkpoint: Checkpoint = {
  checkpointId: 2,
  firstSeq: 5,
  lastSeq: 9,
  treeSize: 5,
  closedAt: NOON,
  rootHash: 'a'.repeat(64),
  prevCheckpointHash: 'b'.repeat(64),
  kid: HIDDEN,
  signature: 'c2ln',
};

const proof = { kind: 'proof', proof: { seq: 7, checkpoint, leafIndex: 2, auditPath: [] } } as const;
const screens: Readonly<Record<string, readonly [page: () => string, shown: readonly unknown[]]>> = {
  Record: [
    () => renderRecord({ taskId: task.taskId, record, proof, acts: [], now: NOON }).toString(),
    [presentRecord(record), { seq: 7, checkpoint: presentCheckpoint(checkpoint), leaf_index: 2, audit_path: [] }],
  ],
  Task: [
    () =>
      renderTask({
        task,
        agent: undefined,
        records: [record],
        recordCount: 1,
        hasMoreRecords: false,
        now: NOON,
        timeline: timelineOf(task, { registered: 300, since: NOON, longest: 3600 }, [record], NOON),
        statusLists: undefined,
        endedBy: [],
        approvals: undefined,
        mayStop: false,
      }).toString(),
    [presentRecord(record)],
  ],
  Checkpoints: [
    () =>
      renderCheckpoints({
        now: NOON,
        outcome: { kind: 'page', checkpoints: [checkpoint], before: undefined, nextBefore: undefined },
      }).toString(),
    [presentCheckpoint(checkpoint)],
  ],
};

describe('Invisible characters in JSON', () => {
  for (const [name, [page, expected]] of Object.entries(screens)) {
    it(`are escaped in the JSON of the screen ${name}, which says the same`, () => {
      const shown = [...page().matchAll(/<pre [^>]*>(.*?)<\/pre>/gs)].map(([, json = '']) =>
        json.replaceAll('&quot;', '"'),
      );
      expect(shown.map((json) => JSON.parse(json))).to.deep.equal(expected);
      expect(shown.join(''))
        .to.include(ESCAPED)
        .and.not.match(/[\u202e\u00a0\u200b\u{e0041}]/u);
    });
  }
});
