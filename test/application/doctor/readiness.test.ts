import { expect } from 'chai';
import { type ReadinessReport, readinessExamination } from '../../../application/doctor/readiness.ts';
import {
  DECISIONS_FAIL,
  describeUsedTwice,
  type StorageCondition,
  type WritingCondition,
} from '../../../application/ports/storage.ts';
import { NOON } from '../../support/domain-fixtures.ts';
import { storageFinding } from '../../support/storage-finding.ts';

describe('The readiness in the report of doctor', () => {
  const statusOf = async (report: ReadinessReport) =>
    (await readinessExamination(async () => [report]).examine()).status;

  it('fails if decisions fail, and warns of another Degraded check', async () => {
    const database = { name: 'database', status: 'Degraded' } as const;
    expect(await statusOf({ ...database, detail: `${DECISIONS_FAIL} a disk is full (53100).` })).to.equal('failed');
    expect(await statusOf({ ...database, detail: 'The database was migrated by a newer release.' })).to.equal(
      'warning',
    );
  });
});

describe('The sealing in the readiness of doctor', () => {
  for (const [title, detail, remedy] of [
    ['says that a restart forgets', 'Nothing is sealed. Checkpoint 1 is missing.', /^Do not restart/],
    ['does not say so of a number', describeUsedTwice({ seq: 1, isSealed: true }), /^See the log/],
    ['nor of an unsealed one', `Nothing is sealed. ${describeUsedTwice({ seq: 1, isSealed: false })}`, /^See the log/],
  ] as const) {
    it(title, async () => {
      const report = { name: 'sealing', status: 'Degraded', detail } as const;
      const finding = await readinessExamination(async () => [report]).examine();
      expect(finding.status).to.equal('failed');
      expect(finding.remedy).to.match(remedy);
    });
  }
});

describe('The writes to the database in the report of doctor', () => {
  const writable: WritingCondition = {
    fault: undefined,
    isStandby: false,
    lockHolders: [],
    awaitingStandby: 0,
    standbys: { needed: 0, connected: 0 },
    damage: undefined,
  };
  const fault = { code: '25006', meaning: 'Postgres is read-only', act: 'Name the primary.' };

  for (const [title, changes, status, sentence] of [
    ['are ok without a standby', {}, 'ok', /^A row can be written\.$/],
    ['are ok with the one standby that is waited for', { standbys: { needed: 1, connected: 1 } }, 'ok', /written\.$/],
    ['are ok with two that are waited for', { standbys: { needed: 2, connected: 2 } }, 'ok', /written\.$/],
    ['are ok with asynchronous standbys', { standbys: { needed: 0, connected: 2 } }, 'ok', /written\.$/],
    [
      'say that an old primary could answer, if a commit waits for one of two standbys',
      { standbys: { needed: 1, connected: 2 } },
      'ok',
      /^A row can be written\. 1 of 2 standbys must have a commit: .* Fence it\.$/,
    ],
    [
      'name a standby, not the error of its write',
      { isStandby: true, fault },
      'failed',
      /^The address names a standby/,
    ],
    [
      'name the code of another error',
      { fault },
      'failed',
      /^A row cannot be written: Postgres is read-only \(25006\)\.$/,
    ],
    ['count the commits that wait', { awaitingStandby: 3 }, 'failed', /^3 sessions wait for a synchronous standby/],
    [
      'name pages with a wrong checksum, also where a row can be written',
      { damage: { count: 2, lastAt: NOON } },
      'failed',
      /^Postgres found damaged pages \(checksums\), 2 times, last at 2\d{3}-.*Z\.$/,
    ],
    [
      'name a prepared transaction, which has no process',
      { lockHolders: [{ pid: 0, table: 'tasks' }] },
      'failed',
      /decisions wait: a prepared transaction on tasks\.$/,
    ],
  ] as const) {
    it(title, async () => {
      const condition: Partial<StorageCondition> = {
        schema: async () => 'current',
        writing: async () => ({ ...writable, ...changes }),
      };
      const found = await storageFinding(condition, 'database writes');
      expect(found.status).to.equal(status);
      expect(found.sentence).to.match(sentence);
    });
  }
});
