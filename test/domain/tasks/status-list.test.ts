import { deflateSync, inflateSync } from 'node:zlib';
import { StatusList } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  isStatusListId,
  packStatuses,
  statusAt,
  statusClaim,
  statusesOf,
  statusListClaims,
  type TaskStatus,
} from '../../../domain/tasks/status-list.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const unpack = (lst: string) => inflateSync(Buffer.from(lst, 'base64url'));

describe('A status list', () => {
  // draft-ietf-oauth-status-list-20 §4.1, §4.2.
  const oneBit = [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1];
  const twoBits = [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3] as const;

  it('is packed as the examples of the draft', () => {
    const statuses = twoBits.map((status, index) => ({ index, status }));
    expect(Buffer.from(packStatuses(12, statuses)).toString('hex')).to.equal('c944f9');
    expect(Buffer.from(unpack('eNo76fITAAPfAgc')).toString('hex')).to.equal('c944f9');
  });

  it('is read as the examples of the draft', () => {
    const [one, two] = [unpack('eNrbuRgAAhcBXQ'), unpack('eNo76fITAAPfAgc')];
    expect(oneBit.map((_, index) => statusAt(one, 1, index))).to.deep.equal(oneBit);
    expect(twoBits.map((_, index) => statusAt(two, 2, index))).to.deep.equal(twoBits);
    expect([statusAt(two, 2, 12), statusAt(two, 2, 2 ** 40)]).to.deep.equal([undefined, undefined]);
  });

  it('is read alike by another implementation', () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(1023), fc.nat(3)), { maxLength: 300 }), (pairs) => {
        const statuses = pairs.map(([index, status]) => ({ index, status: status as TaskStatus }));
        const bytes = packStatuses(1024, statuses);
        const lst = deflateSync(bytes).toString('base64url');
        const read = StatusList.decompressStatusList(lst, 2);
        const latest = new Map(pairs);
        for (let index = 0; index < 1024; index++) {
          expect(read.getStatus(index)).to.equal(latest.get(index) ?? 0);
          expect(statusAt(bytes, 2, index)).to.equal(latest.get(index) ?? 0);
        }
      }),
      { numRuns: 30 },
    ));

  it('shows an end before a disabled agent, and a disabled agent before a revoked token', () => {
    const tasks = { ended: [1, 4], suspended: [1, 2, 5], withRevokedToken: [1, 2, 3] };
    const bytes = packStatuses(1024, statusesOf(tasks));
    expect([0, 1, 2, 3, 4, 5].map((index) => statusAt(bytes, 2, index))).to.deep.equal([0, 1, 2, 3, 1, 2]);
  });

  it('has claims that are valid for twelve times its ttl, since the tables were read', () => {
    const uri = 'https://mandate.example/status/q80B-f_nWEZ5HLXzGk6-zA';
    expect(statusListClaims({ uri, readAt: NOON, ttl: 5, lst: 'eNo' })).to.deep.equal({
      sub: uri,
      iat: 1_789_653_821,
      exp: 1_789_653_881,
      ttl: 5,
      status_list: { bits: 2, lst: 'eNo' },
    });
    const status = { listId: 'q80B-f_nWEZ5HLXzGk6-zA', index: 7 };
    expect(statusClaim('https://mandate.example', status)).to.deep.equal({ status_list: { idx: 7, uri } });
  });

  it('has an id of 128 bits in its only valid spelling', () => {
    expect(isStatusListId('q80B-f_nWEZ5HLXzGk6-zA')).to.equal(true);
    for (const id of [
      ...['', 'x', 'q80B-f_nWEZ5HLXzGk6-z', 'q80B-f_nWEZ5HLXzGk6-zAA', 'q80B-f_nWEZ5HLXzGk6-zB'],
      ...['q80B-f_nWEZ5HLXzGk6+zA', 'q80B-f_nWEZ5HLXzGk6-zA\n', 'q80B-f_nWEZ5HLXzGk6-z=', '../../../../admin/agentA'],
    ]) {
      expect(isStatusListId(id), id).to.equal(false);
    }
  });
});
