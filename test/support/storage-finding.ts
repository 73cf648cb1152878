/** What one check of `mandate doctor` finds in an opened database. */

import type { Finding } from '../../application/doctor/examine.ts';
import { type OpenedStorage, storageExaminations } from '../../application/doctor/storage.ts';
import type { StorageCondition } from '../../application/ports/storage.ts';
import { NOON } from './domain-fixtures.ts';

export async function storageFinding(condition: Partial<StorageCondition>, check: string): Promise<Finding> {
  const opened: OpenedStorage = {
    condition: condition as StorageCondition,
    refusal: () => undefined,
    exposure: undefined,
    kind: 'opened',
  };
  const examinations = storageExaminations(Promise.resolve(opened), {
    clock: { now: () => NOON },
    isDevelopment: false,
    monthsAhead: 2,
    checkpointInterval: 60,
    hasSink: false,
    listEntries: undefined,
    maxTokenTtl: undefined,
    hasDelegation: false,
    mayEndNothing: [],
    keysAreSubjects: true,
    kids: async () => [],
    archivedPart: async () => undefined,
  });
  const examination = examinations.find((each) => each.check === check);
  if (examination === undefined) throw new Error(`there is no check ${check}`);
  return examination.examine();
}
