/** What `mandate doctor` finds about signing keys, clocks and sealing. */

import { createPublicKey } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { instantFromMillis, plusSeconds } from '../../../domain/instant.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { append, seal } from '../../support/ledger/fill.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import type { Examined } from './examined.ts';

/** The provider reads the keys of its client at Service:Issuer, and these are not there. */
const keysUnknown =
  /^The provider refuses the client mandate-page, and Service:Issuer does not answer with the keys by which it knows/;

export function testKeys(examined: Examined, kind: TestDatabase): void {
  const { isPostgres, complaints, expectOnly, expectFinding, onFresh } = examined;

  it('finds signing keys that cannot be loaded, that other users can read, or that replicas do not publish', async () => {
    const { folder } = examined;
    const file = join(folder, 'other.pem');
    writeFileSync(file, 'no key at all', { mode: 0o600 });
    const unusable = await complaints({ 'Service:Signing:Keys:0:Path': file });
    await expectOnly(unusable, [
      'signing keys',
      'failed',
      /Service:Signing:Keys:0:Path .* is not a private key in PEM/,
    ]);
    writeFileSync(file, (await makeSealingKey()).pem);
    chmodSync(file, 0o644);
    await expectOnly(
      await complaints({ 'Service:Signing:Keys:0:Path': file }),
      ['signing key files', 'warning', /Service:Signing:Keys:0:Path \(read by others\)/],
      ['sign-in client', 'warning', keysUnknown],
      ['own address', 'warning', /does not publish every key/],
    );
  });

  if (!isPostgres) {
    it('warns of a database file that other users can read or change, names read-only ones, and refuses SQLite in memory', async () => {
      await onFresh(async (fresh) => {
        const path = String(fresh.settings['Service:Database:Path']);
        for (const [mode, may] of [
          [0o644, 'read'],
          [0o660, 'change'],
        ] as const) {
          chmodSync(path, mode);
          const sentence = new RegExp(`^Other users of this machine may ${may} the file of the database\\.$`);
          await expectFinding(fresh.settings, 'database role', 'warning', sentence);
        }
      });
      await onFresh(async (fresh, sql) => {
        const path = String(fresh.settings['Service:Database:Path']);
        // The connection keeps both files. SQLite itself mends the mode of an empty -wal if it may.
        await sql('update schema_migrations set batch = batch + 1');
        for (const beside of ['-wal', '-shm']) chmodSync(path + beside, 0o400);
        const expectNamed = (names: RegExp) => expectFinding(fresh.settings, 'database writes', 'failed', names);
        chmodSync(path, 0o400);
        await expectNamed(
          /^A row cannot be written: the owner may not write to mandate\.sqlite, mandate\.sqlite-wal, mandate\.sqlite-shm: read-only by mode \(SQLITE_READONLY\)\.$/,
        );
        chmodSync(path, 0o600);
        await expectNamed(/the owner may not write to mandate\.sqlite-wal, mandate\.sqlite-shm/);
        chmodSync(`${path}-wal`, 0o600);
        await expectNamed(/the owner may not write to mandate\.sqlite-shm/);
        chmodSync(`${path}-shm`, 0o600);
        expect((await complaints(fresh.settings)).map(({ check }) => check)).to.not.include('database writes');
      });
      const inMemory = await complaints({ 'Service:Database:Path': ':memory:' });
      expect(inMemory[0]).to.deep.include({ check: 'settings', status: 'failed' });
      expect(inMemory[0]?.sentence).to.include('is SQLite in memory');
    });
  }

  it('lets everybody read the public half of a retired key, but not replace it', async () => {
    const { folder } = examined;
    const half = await makeSealingKey();
    const file = join(folder, 'retired.pem');
    writeFileSync(file, createPublicKey(half.pem).export({ type: 'spki', format: 'pem' }));
    const active = await makeSealingKey();
    const changes = {
      'Service:Signing:Keys:0:Path': undefined,
      'Service:Signing:Keys:0:Pem': active.pem,
      'Service:Signing:Keys:1:Path': file,
      'Service:Signing:ActiveKid': active.signer.kid,
    };
    const notPublished = [
      ['sign-in client', 'warning', keysUnknown],
      ['own address', 'warning', /does not publish every key/],
    ] as const;
    chmodSync(file, 0o644);
    await expectOnly(await complaints(changes), ...notPublished);
    chmodSync(file, 0o666);
    await expectOnly(
      await complaints(changes),
      ['signing key files', 'warning', /Service:Signing:Keys:1:Path \(written by others\)/],
      ...notPublished,
    );
  });

  if (isPostgres) {
    it('names the connection string whose certificate file cannot be read', async () => {
      const found = await complaints({
        'Service:Database:ConnectionString': 'postgresql://mandate@127.0.0.1/mandate?sslrootcert=/nowhere.pem',
      });
      expect(found.filter(({ status }) => status === 'failed')).to.have.length(1);
      expect(found.find(({ check }) => check === 'database')).to.deep.include({
        status: 'failed',
        sentence:
          'Service:Database:ConnectionString (Service__Database__ConnectionString) names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user.',
      });
    });
  }

  it('warns of a clock that differs by more than 5 seconds, and fails with one that differs by more than the clock skew', async () => {
    const { clock } = examined;
    clock.advance(20);
    const began = performance.now();
    const few = (await complaints()).filter(({ check }) => check.endsWith('clock'));
    const took = Math.ceil((performance.now() - began) / 1000);
    // Each clock is read a little later than this machine's.
    const apart = (whose: string, atMostLess: number) => {
      const seconds = Array.from({ length: atMostLess + 1 }, (_, less) => 20 - less);
      return new RegExp(`^${whose} clock is (${seconds.join('|')}) seconds behind`);
    };
    const database = isPostgres ? [['database clock', 'warning', apart("The database's", took)] as const] : [];
    // The Date header of the provider has whole seconds.
    const ofProvider = apart("The identity provider's", took + 1);
    await expectOnly(few, ...database, ['provider clock', 'warning', ofProvider]);
    clock.advance(100);
    const many = (await complaints()).filter(({ check }) => check.endsWith('clock'));
    expect(many.map(({ status }) => status)).to.deep.equal(isPostgres ? ['failed', 'failed'] : ['failed']);
    expect(many.at(-1)?.sentence).to.match(/more than the 60 seconds/);
  });

  it('warns of unsealed records, of checkpoints whose key is not published, and of queued records without a sink', async () => {
    const { key, clock } = examined;
    const fresh = await kind.fresh();
    const hourAgo = plusSeconds(instantFromMillis(Date.now()), -3600);
    const storage = await fresh.open({ clock: { now: () => hourAgo } });
    await storage.outbox.setQueueing(true);
    await append(storage, 3, hourAgo);
    const stranger = await makeSealingKey();
    const changes = { ...fresh.settings, 'Service:Audit:Sink:Url': undefined };
    await expectOnly(
      await complaints(changes),
      [
        'ledger sealing',
        'warning',
        /^3 records are not sealed, the oldest from 1 hour ago; there is no checkpoint yet\.$/,
      ],
      ['outbox', 'warning', /^3 records wait for the sink, and more are queued, but none is configured here\.$/],
    );
    await seal(storage, { ...stranger.signer, kid: 'old\u202e\nkey' }, hourAgo);
    await storage.outbox.drain({ now: clock.now(), limit: 10 }, async () => false);
    await expectOnly(
      await complaints(fresh.settings),
      [
        'checkpoint keys',
        'failed',
        /^The newest checkpoint is signed with the key old\\u\{202e\}\\u\{a\}key, which is not con/,
      ],
      ['outbox', 'warning', /it has refused, or not answered for, 3 of them/],
    );
    await append(storage, 1, hourAgo, 3);
    await seal(storage, key.signer, hourAgo);
    const found = await complaints(fresh.settings);
    await expectOnly(
      found,
      [
        'checkpoint keys',
        'warning',
        /^Earlier checkpoints were signed with keys that are not configured: old\\u\{202e\}\\u\{a\}key\.$/,
      ],
      ['outbox', 'warning', /^4 records wait/],
    );
    for (const { remedy } of found) expect(remedy).not.to.match(/configure (them|it) again/i);
    expect(found[0]?.remedy).to.include('Never configure a key only because the ledger names it.');
    await storage.close();
    await fresh.drop();
  });
}
