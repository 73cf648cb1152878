/** A service whose SQLite file takes long to check ends at once. The check alone takes seconds of CPU time. */

import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { CHECKED_AT_ONCE_BYTES } from '../../../adapters/storage/sqlite/limits.ts';
import { startCommand } from '../../support/command-process.ts';
import { sqliteFile } from '../../support/databases.ts';
import { startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { ADMIN_KEY } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

/** Their check takes several seconds. */
const SLOW_ROWS = 50;
/** After this time the check has begun. */
const CHECKING_MS = 1_000;

describe('A backup of SQLite', function () {
  this.timeout(60_000);

  it('that is large does not delay the end of the service, however long its check takes', async () => {
    const database = await sqliteFile.fresh();
    const provider = await startIdentityProvider();
    const handle = new Database(database.settings['Service:Database:Path']);
    // The insertion and the check evaluate the column of each row, because it must not be null.
    const inserting = performance.now();
    handle.exec(`create table filler (content);
      insert into filler values (zeroblob(${CHECKED_AT_ONCE_BYTES}));
      create table slow (n integer, m integer generated always as (length(hex(zeroblob(n)))) virtual not null);
      insert into slow (n)
        with recursive c (n) as (select 30000000 union all select n from c limit ${SLOW_ROWS}) select n from c`);
    const checkMs = performance.now() - inserting;
    handle.close();
    const serving = startCommand(['serve'], {
      ...database.settings,
      ...sharedSigningKey(),
      'Service:Issuer': 'https://mandate.test',
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      NODE_ENV: 'development',
      PORT: '0',
    });
    await serving.said('"listening"');
    await pause(CHECKING_MS);
    const began = performance.now();
    serving.child.kill('SIGTERM');
    const { code, out } = await serving.ended;
    expect([code, /could not be checked/.test(out)], out).to.deep.equal([0, false]);
    expect(performance.now() - began).to.be.below((checkMs - CHECKING_MS) / 2);
    await provider.stop();
    await database.drop();
  });
});
