/**
 * The owner of the database rewrites a sealed ledger, signs it with another key, and has the ledger name this key. No reader
 * may believe a key because the data has it (supplement "Trust in the ledger").
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runMandate } from '../support/cli-run.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { seal } from '../support/ledger/fill.ts';
import { sealAnew } from '../support/ledger/resealing.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { startTampering, type Tampering } from '../support/ledger/tampering.ts';
import { type Mandate, startMandate } from '../support/mandate.ts';
import type { Storage } from '../support/storage.ts';
import { logKeySettings } from '../support/transparency-log.ts';

/** The owner also empties the log, which would show the real checkpoints. */
const EMPTIED_LOG = ['log_state', 'log_tiles', 'log_cosignatures', 'log_problems'].map(
  (table) => `delete from ${table}`,
);
const OTHER_IN_LOG =
  'The seal is not intact. The log in the database has another checkpoint 1: the checkpoint was replaced after it was logged, or the log was changed.';
const NOT_PUBLISHED = 'The seal is not intact. Checkpoint 1 was signed with a key that is not published.';

for (const database of databasesByLength) {
  describe(`A ledger that the owner of ${database.name} signed anew`, function () {
    this.timeout(60_000);
    let folder: string;
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let storage: Storage;
    let outside: OutsideConnection;
    let tampering: Tampering;
    let real: SealingKey;
    let own: SealingKey;
    let settings: Readonly<Record<string, string>>;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'mandate-owner-'));
      [real, own] = [await makeSealingKey(), await makeSealingKey()];
      fresh = await database.fresh();
      settings = { 'Service:Signing:Keys:0:Pem': real.pem, ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };
      mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings });
      const agent = await mandate.agent();
      for (let checkpoint = 0; checkpoint < 3; checkpoint += 1) {
        for (let task = 0; task < 2; task += 1) await agent.exchange();
        await mandate.jobs.seal();
        await mandate.jobs.growLog();
      }
      writeFileSync(join(folder, 'kept.json'), (await mandate.get('/.well-known/jwks.json')).text);
      storage = await fresh.open();
      outside = await connectOutside(fresh, 'owner');
      tampering = await startTampering(outside, database.engine);

      // Two records changed, a key recorded, a record of it appended, all checkpoints signed with it.
      const jwk = JSON.stringify({ ...own.jwks.keys[0], kid: 'old-2025' });
      const since = database.engine === 'sqlite' ? '1' : "'2025-01-01Z'";
      await tampering.sql(
        "update ledger set sponsor = 'grace' where seq = (select first_seq from checkpoints where checkpoint_id = 2)",
        'delete from ledger where seq = (select last_seq from checkpoints where checkpoint_id = 2)',
        `insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to)
          values ('checkpoint', 'old-2025', '${own.signer.kid}', '${jwk}', ${since}, ${since})`,
      );
      await storage.ledger.append({
        at: mandate.clock.now(),
        event: 'key.retired',
        decision: 'allow',
        reason: 'checkpoint_key',
        detail: own.signer.kid,
      });
      await sealAnew(storage, tampering, { ...own.signer, kid: 'old-2025' });
    });
    after(async () => {
      await outside.close();
      await storage.close();
      await mandate.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const command = (name: string, ...options: readonly string[]) =>
      runMandate([name, ...options], { ...fresh.settings, ...settings });
    const verify = (...options: readonly string[]) => command('audit-verify', ...options);
    const kept = () => ['--jwks', join(folder, 'kept.json')];
    const newestId = async () => (await storage.checkpoints.newest())?.checkpointId;

    async function expectNotIntact(...options: readonly string[]): Promise<void> {
      const { code, out } = await verify(...options);
      expect({ code, first: out.split('\n')[0] }).to.deep.equal({ code: 3, first: NOT_PUBLISHED });
    }

    it('is not intact as long as the log in the database has the real checkpoints, also with recorded keys', async () => {
      const { code, out } = await verify('--recorded-keys');
      expect({ code, first: out.split('\n')[0] }).to.deep.equal({ code: 3, first: OTHER_IN_LOG });
      await tampering.sql(...EMPTIED_LOG);
    });

    it('is not intact, by default and with the key set that was kept, and the service does not seal over it', async () => {
      await mandate.jobs.seal();
      expect(await newestId()).to.equal(3);
      await expectNotIntact();
      await expectNotIntact(...kept());
      // No believed key sealed the record that names the key.
      await expectNotIntact('--recorded-keys');
      const { fault } = JSON.parse((await verify('--json')).out);
      expect(fault).to.include({ kind: 'unknown_key', checkpoint_id: 1 });
    });

    it('is not intact if a checkpoint by the real key follows, and only --recorded-keys believes the other key', async () => {
      // As a service would that did not verify the newest checkpoint.
      await seal(storage, real.signer, mandate.clock.now());
      expect(await newestId()).to.equal(4);
      await expectNotIntact();
      await expectNotIntact(...kept());
      const { code, out } = await verify('--recorded-keys');
      expect(code).to.equal(0);
      expect(out).to.match(/^Verified with keys that the ledger itself names: 4 checkpoints and /);
      expect(out)
        .to.include(`\n  ${own.signer.kid}\n`)
        .and.not.to.match(/intact/i);
      const { intact, ...report } = JSON.parse((await verify('--recorded-keys', '--json')).out);
      expect(intact).to.equal(null);
      expect(report).to.deep.include({
        verified_with: 'recorded_keys',
        recorded_keys: [{ kid: 'old-2025', thumbprint: own.signer.kid }],
      });
    });

    it('gives bundles that say whose keys they bring, and that the policy of an auditor does not accept', async () => {
      const [bundle, policy] = [join(folder, 'evidence.json'), join(folder, 'policy.json')];
      const line = ['audit-bundle', '--from', '2026-01-01', '--without-log', '--out', bundle] as const;
      const refused = await command(...line);
      expect(refused.code).to.equal(1);
      expect(refused.err).to.match(/^mandate: No known key signed checkpoint 1: /);
      const made = await command(...line, '--recorded-keys');
      expect(made.out).to.match(
        /^Wrote .*evidence\.json: \d+ records in 4 checkpoints \(from 2026-01-01T00:00:00\.000Z\)\.\n/,
      );
      expect(made).to.deep.include({
        code: 0,
        err: `mandate: Signed with keys that only the ledger names: ${own.signer.kid}. Compare them with a key set that you kept, before a policy names them.\n`,
      });
      const alone = await verify('--bundle', bundle);
      expect(alone.code).to.equal(0);
      expect(alone.out)
        .to.match(/^Consistent, signed with keys that the bundle itself brings: /)
        .and.not.to.match(/intact/i);
      writeFileSync(policy, JSON.stringify({ checkpoint_keys: [real.signer.kid] }));
      expect((await verify('--bundle', bundle, '--policy', policy)).code).to.equal(3);
    });
  });
}
