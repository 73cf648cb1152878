/** `mandate audit-verify` on ledgers that their owner has changed. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { LIMITS } from '../../adapters/storage/postgres/limits.ts';
import { StorageUnavailable } from '../../application/ports/decisions.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { formatMark } from '../../domain/ledger/checkpoint.ts';
import { runMandate } from '../support/cli-run.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { connectOutside, databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { append, seal } from '../support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { answering, startLoopback } from '../support/loopback.ts';
import type { Storage } from '../support/storage.ts';

/** The number of records of each checkpoint. */
const SIZES = [7, 1, 5, 8, 3, 6];

for (const kind of databasesByLength) {
  describe(`audit-verify on ${kind.name}`, function () {
    this.timeout(60_000);
    let key: SealingKey;
    let database: FreshDatabase;
    let storage: Storage;
    let settings: Readonly<Record<string, string>>;
    let directory: string;

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'mandate-verify-'));
      key = await makeSealingKey();
      database = await kind.fresh();
      storage = await database.open({ clock: { now: () => NOON } });
      settings = { ...database.settings, 'Service:Signing:Keys:0:Pem': key.pem };
      await append(storage, 2, NOON);
    });
    after(async () => {
      await storage.close();
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    });

    async function marks(): Promise<readonly string[]> {
      return (await storage.checkpoints.page(0, 100)).map(formatMark);
    }

    it('reports an intact seal for a ledger without checkpoints', async () => {
      const { code, out, err } = await runMandate(['audit-verify'], settings);
      expect([code, err]).to.deep.equal([0, '']);
      expect(out).to.include('The seal is intact: there is no checkpoint yet.');
    });

    describe('with sealed records', () => {
      before(async () => {
        let first = 2;
        for (const size of SIZES) {
          await append(storage, size, NOON, first);
          first += size;
          await seal(storage, key.signer, instantFromMicros(NOON + first * 1_000_000));
        }
        await append(storage, 4, NOON, first);
      });

      it('exits with 0, and prints into a pipe only the counts and the last mark', async () => {
        const { code, out, err } = await runMandate(['audit-verify'], settings);
        expect([code, err]).to.deep.equal([0, '']);
        expect(out.split('\n')).to.deep.equal([
          'The seal is intact: 6 checkpoints and 32 records verified.',
          'Not sealed yet, so not verified: 4 records.',
          (await marks()).at(-1),
          '',
        ]);
      });

      it('warns of checkpoints that were closed late, by the configured interval, and exits with 0', async () => {
        const other = await kind.fresh();
        const late = await other.open({ clock: { now: () => NOON } });
        try {
          await append(late, 2, NOON);
          await seal(late, key.signer, instantFromMicros(NOON + 9_000_000_000));
          const of = (interval?: string, ...options: readonly string[]) =>
            runMandate(['audit-verify', ...options], {
              ...other.settings,
              'Service:Signing:Keys:0:Pem': key.pem,
              'Service:Audit:Checkpoint:Interval': interval,
            });
          for (const interval of [undefined, 'PT1M', 'never']) {
            const { code, out } = await of(interval);
            expect(code).to.equal(0);
            expect(out.split('\n')[1], interval).to.match(
              /^Warning: checkpoint 1 was closed more than 2 hours after its oldest record\. /,
            );
          }
          expect(JSON.parse((await of('PT1M', '--json')).out)).to.deep.nested.include({
            intact: true,
            'warnings[0].kind': 'sealed_late',
            'warnings[0].checkpoint_id': 1,
          });
          expect((await of('PT10M')).out).not.to.include('Warning');
        } finally {
          await late.close();
          await other.drop();
        }
      });

      it('exits with 3 if a mark contradicts its checkpoint or names an absent one', async () => {
        const contradicted = await runMandate(['audit-verify', `4:${'0'.repeat(64)}`], settings);
        expect(contradicted.code).to.equal(3);
        expect(contradicted.out).to.match(/^The seal is not intact\. Checkpoint 4 has another root than the mark says/);
        // Checkpoint 4, which the mark contradicts, is not counted.
        expect(contradicted.out.split('\n').slice(1)).to.deep.equal([
          'Verified up to checkpoint 3: 3 checkpoints and 15 records.',
          `The last mark before the fault: ${(await marks())[2]}`,
          '',
        ]);
        const cut = await runMandate(['audit-verify', `7:${'0'.repeat(64)}`, '--json'], settings);
        expect(cut.code).to.equal(3);
        expect(JSON.parse(cut.out)).to.deep.nested.include({ intact: false, 'fault.kind': 'mark_unmatched' });
        expect(JSON.parse(cut.out).fault).to.include({ checkpoint_id: 7, newest_id: 6 });
        const verified = { checkpoints: 6, records: 32, archived_checkpoints: 0, verified_through: (await marks())[5] };
        expect(JSON.parse(cut.out)).to.include(verified);
      });

      it('takes the published keys from a file or a URL instead of the settings', async () => {
        const file = join(directory, 'jwks.json');
        writeFileSync(file, JSON.stringify(key.jwks));
        expect((await runMandate(['audit-verify', '--jwks', file], database.settings)).code).to.equal(0);

        const server = await startLoopback(answering(key.jwks));
        const fetched = await runMandate(['audit-verify', '--jwks', `${server.url}/`], database.settings);
        await server.close();
        expect(fetched.code, fetched.err).to.equal(0);

        const other = await makeSealingKey();
        writeFileSync(file, JSON.stringify(other.jwks));
        const stranger = await runMandate(['audit-verify', '--jwks', file], settings);
        expect(stranger.code).to.equal(3);
        expect(stranger.out).to.include('Checkpoint 1 was signed with a key that is not published.');
      });

      it('exits with its verdict if the reader closes the pipe, and with 1 if standard output cannot be written to', async () => {
        const { child, ended } = startCommand(['audit-verify'], settings);
        child.stdout?.destroy();
        expect(await ended).to.deep.equal({ code: 0, out: '', err: '' });
        if (!existsSync('/dev/full')) return;
        expect(await runCommand(['audit-verify'], settings, 'exec > /dev/full')).to.deep.equal({
          code: 1,
          out: '',
          err: 'mandate: The report could not be written to standard output.\n',
        });
      });

      it('exits with 2 for a malformed mark, and with 1 if the database or the keys cannot be read', async () => {
        const malformed = await runMandate(['audit-verify', '5:ABC'], settings);
        expect(malformed).to.include({ code: 2, out: '' });
        expect(malformed.err).to.match(/^mandate: .*[.]/);
        const away =
          kind.engine === 'sqlite'
            ? { 'Service:Database:Path': join(directory, 'none.db') }
            : { 'Service:Database:ConnectionString': 'postgresql://nobody@127.0.0.1:9/none' };
        const unreadable = await runMandate(['audit-verify'], { ...settings, ...away });
        expect(unreadable).to.include({ code: 1, out: '' });
        expect(unreadable.err).to.include('mandate: ');
        const keyless = await runMandate(['audit-verify'], database.settings);
        expect(keyless.code).to.equal(1);
        expect(keyless.err).to.include('give the published key set with --jwks');
      });

      if (kind.engine === 'postgres') {
        it('waits longer for a slow database than requests do', async () => {
          const owner = await connectOutside(database, 'owner');
          const seconds = LIMITS.serving.statement / 1_000 + 0.5;
          const requests = await database.open({ limits: LIMITS });
          await owner.sql('alter table checkpoints rename to kept');
          await owner.sql(`create view checkpoints as select kept.* from pg_sleep(${seconds}) left join kept on true`);
          await owner.sql('grant select on checkpoints to public');
          const [verified, asked] = await Promise.all([
            runMandate(['audit-verify'], settings),
            requests.checkpoints.newest().catch((error: unknown) => error),
          ]);
          await requests.close();
          await owner.sql('drop view checkpoints');
          await owner.sql('alter table kept rename to checkpoints');
          await owner.close();
          expect(asked).to.be.instanceOf(StorageUnavailable);
          expect(verified).to.include({ code: 0, err: '' });
        });
      }
    });
  });
}
