/** Reads and packs the lists of draft-ietf-oauth-status-list-20, and those of another implementation. */

import { readFileSync } from 'node:fs';
import { deflateSync, inflateSync } from 'node:zlib';
import { StatusList } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import { packStatuses, statusAt, type TaskStatus } from '../../../domain/tasks/status-list.ts';

interface Vector {
  readonly section: string;
  readonly bits: number;
  readonly entries: number;
  readonly lst: string;
  /** Every status other than 0: index and value. */
  readonly statuses: readonly (readonly [index: number, value: number])[];
}

const file = new URL('../../vectors/status-lists.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8')) as readonly Vector[];

describe('A status list of the draft', () => {
  for (const { section, bits, entries, lst, statuses } of vectors) {
    it(`of section ${section} with statuses of ${bits} bits is read at every index`, () => {
      const bytes = inflateSync(Buffer.from(lst, 'base64url'));
      expect(bytes).to.have.length((entries * bits) / 8);
      const read = Array.from({ length: entries }, (_, index) => [index, statusAt(bytes, bits, index)] as const);
      const others = read.filter(([, value]) => value !== 0);
      expect(others).to.deep.equal([...statuses].sort(([one], [other]) => one - other));
      expect(statusAt(bytes, bits, entries)).to.equal(undefined);
    });
  }

  for (const { section, entries, lst, statuses } of vectors.filter(({ bits }) => bits === 2)) {
    it(`of section ${section} is packed into the same bytes`, () => {
      const given = statuses.map(([index, value]) => ({ index, status: value as TaskStatus }));
      const bytes = packStatuses(entries, given);
      expect(Buffer.compare(bytes, inflateSync(Buffer.from(lst, 'base64url')))).to.equal(0);
    });
  }
});

describe('A packed status list', () => {
  it('is read by @sd-jwt/jwt-status-list at every index', () => {
    const values = Array.from({ length: 1024 }, (_, index) => ((index * 5 + (index >> 2)) % 4) as TaskStatus);
    const bytes = packStatuses(
      values.length,
      values.map((status, index) => ({ index, status })),
    );
    const read = StatusList.decompressStatusList(deflateSync(bytes).toString('base64url'), 2);
    expect(read.statusList).to.deep.equal(values);
  });
});
