/** docs/auditing.md names the fields as the code writes them. test/long/docs/auditing.test.ts runs its commands. */

import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { presentCheckpoint } from '../../domain/ledger/checkpoint.ts';
import { presentRecord } from '../../domain/ledger/record.ts';
import { NOON } from '../support/domain-fixtures.ts';

const page = await readFile(new URL('../../docs/auditing.md', import.meta.url), 'utf8');

describe('docs/auditing.md', () => {
  const record = { seq: 1, checkpoint: 1, at: NOON, event: 'audit.archived', decision: 'allow', count: 2, detail: 'x' };
  const checkpoint = {
    checkpointId: 1,
    firstSeq: 1,
    lastSeq: 1,
    treeSize: 1,
    rootHash: 'ab',
    prevCheckpointHash: undefined,
    closedAt: NOON,
    kid: 'a',
    signature: 'cd',
  };
  const lines = { record: presentRecord({ ...record, decision: 'allow' }), checkpoint: presentCheckpoint(checkpoint) };

  for (const [name, line] of Object.entries(lines)) {
    it(`lists the fields of a ${name} in the order of the API and the export`, () => {
      const fields = Object.keys(line).map((field) => `\`${field}\``);
      expect(page.replaceAll(/\s+/g, ' ')).to.include(fields.join(', '));
    });
  }
});
