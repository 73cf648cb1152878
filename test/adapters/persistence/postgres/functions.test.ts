import { expect } from 'chai';
import { type FreshDatabase, freshDatabase, type Outside } from '../../../support/databases.ts';

/** Asked of the catalogue, so that a function that is added later is held to the same rules. */
describe('the functions of the schema on Postgres', () => {
  let database: FreshDatabase;
  let owner: Outside;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    if (database.outside === undefined) throw new Error('Postgres cannot be reached from outside');
    owner = await database.outside('owner');
  });
  after(async () => {
    await owner.close();
    await database.drop();
  });

  const functionsThat = async (condition: string) => {
    const rows = await owner.sql(
      `select proname as name from pg_proc where pronamespace = 'public'::regnamespace and (${condition}) order by 1`,
    );
    return rows.map(({ name }) => name);
  };

  it('may be called by the owner and the serving role only: none is open to every role', async () => {
    const isOpenToAll = `exists (
      select from aclexplode(coalesce(proacl, acldefault('f', proowner))) acl
        where acl.grantee = 0 and acl.privilege_type = 'EXECUTE')`;
    expect(await functionsThat(isOpenToAll)).to.deep.equal([]);
    expect(await functionsThat(`not ${isOpenToAll}`)).to.include.members(['append_record', 'open_task']);
  });

  it('look up tables in our schema only where they run as their owner, whatever the caller’s search path is', async () => {
    expect(await functionsThat('prosecdef')).to.include('append_record');
    const lookElsewhere = `prosecdef and not coalesce('search_path=public, pg_temp' = any (proconfig), false)`;
    expect(await functionsThat(lookElsewhere)).to.deep.equal([]);
  });
});
