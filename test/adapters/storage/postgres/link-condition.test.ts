import { expect } from 'chai';
import { linkCondition } from '../../../../adapters/storage/postgres/link-condition.ts';
import { withEnvironment } from '../../../support/captured-output.ts';

describe('the protection of the connection to Postgres', () => {
  for (const [address, link] of [
    ['postgresql://a:b@db.example/mandate', 'plain'],
    ['postgresql://a:b@10.0.0.7:5433/mandate?application_name=sslmode', 'plain'],
    ['postgresql://a:b@db.example/mandate?sslmode=disable', 'plain'],
    ['postgresql://a:b@db.example/mandate?sslmode=no-verify', 'unverified'],
    ['postgresql://a:b@db.example/mandate?uselibpqcompat=true&sslmode=require', 'unverified'],
    ['postgresql://a:b@db.example/mandate?sslmode=verify-full', 'verified'],
    ['postgresql://a:b@127.0.0.1/mandate', 'local'],
    ['postgresql://a:b@[::1]/mandate', 'local'],
    ['postgresql://a:b@localhost/mandate', 'local'],
    ['postgresql://a:b@%2Fvar%2Frun%2Fpostgresql/mandate', 'local'],
    ['postgresql:///mandate?host=/tmp', 'local'],
    ['postgresql://a:b@localhost,db.example/mandate?target_session_attrs=primary', 'plain'],
    ['postgresql://a:b@db.example,localhost/mandate?target_session_attrs=primary', 'plain'],
    ['postgresql://a:b@localhost,db.example/mandate?sslmode=verify-full&target_session_attrs=primary', 'verified'],
    ['postgresql://a:b@127.0.0.1,[::1]/mandate?target_session_attrs=primary', 'local'],
  ] as const) {
    it(`is ${link} with ${address}`, () => {
      expect(linkCondition(address)).to.equal(link);
    });
  }

  it('is that of PGSSLMODE if the address has no sslmode, because the driver reads PGSSLMODE too', async () => {
    await withEnvironment({ PGSSLMODE: 'verify-full' }, async () => {
      expect(linkCondition('postgresql://a:b@db.example/mandate')).to.equal('verified');
    });
  });
});
