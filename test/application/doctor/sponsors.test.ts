import { expect } from 'chai';
import { type SponsorQueries, sponsorExamination } from '../../../application/doctor/sponsors.ts';

const answering: SponsorQueries = {
  addresses: ['https://users.example/people'],
  needsMetadata: false,
  hasBearerToken: true,
  metadata: async () => ({ problem: 'It is not read.', ahead: undefined }),
  tryUsers: async () => ({ kind: 'not_found', knowsPaths: true }),
  publishesKeys: async () => true,
};
const examine = (addresses: readonly string[]) =>
  sponsorExamination(async () => ({ ...answering, addresses })).examine();

describe('The examination of the sponsor check', () => {
  it('warns if the service token or the answers are sent unencrypted', async () => {
    for (const clear of [['http://users.example/people'], ['https://users.example', 'http://login.example/token']]) {
      const found = await examine(clear);
      expect(found.status).to.equal('warning');
      expect(JSON.stringify(found)).to.include('over http').and.not.to.include('example');
    }
    for (const safe of [answering.addresses, ['http://127.0.0.1:8080/users', 'http://localhost/token']]) {
      expect((await examine(safe)).status).to.equal('ok');
    }
  });
});
