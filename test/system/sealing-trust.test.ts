/** The service seals only over checkpoints that it can trust (supplement "Trust in the ledger"). */

import { createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import { newNoteKey, readNoteSigner } from '../../adapters/jose/log-key.ts';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { ED25519, formatVerifierKey } from '../../domain/log/verifier-key.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { sealAnew } from '../support/ledger/resealing.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { startTampering, type Tampering } from '../support/ledger/tampering.ts';
import { type Mandate, startMandate, withService } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import type { Storage } from '../support/storage.ts';
import { logKeySettings } from '../support/transparency-log.ts';

const REPORT = 'nothing is sealed: the checkpoints cannot be trusted';

for (const database of databasesByLength) {
  describe(`A sealed ledger that its owner rewrites on ${database.name}`, () => {
    const signing = sharedSigningKey();
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let storage: Storage;
    let outside: OutsideConnection;
    let tampering: Tampering;
    let stranger: SealingKey;
    beforeEach(async () => {
      fresh = await database.fresh();
      stranger = await makeSealingKey();
      const settings = { ...signing, ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };
      mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings });
      storage = await fresh.open();
      for (const person of ['ada', 'grace', 'edsger']) {
        await mandate.block(person, 'disabled');
        await mandate.block(`${person}-too`, 'disabled');
        await mandate.jobs.seal();
        await mandate.jobs.growLog();
      }
      outside = await connectOutside(fresh, 'owner');
      tampering = await startTampering(outside, database.engine);
    });
    afterEach(async () => {
      await tampering.undo();
      // A process that saw a record that is gone decides nothing more.
      if (!hasSeenMore) {
        await mandate.jobs.seal();
        expect(await sealingCheck(mandate)).to.include({ status: 'Healthy' });
      }
      hasSeenMore = false;
      await outside.close();
      await storage.close();
      await mandate.stop();
    });

    let hasSeenMore = false;
    const append = async (...records: Parameters<Storage['ledger']['append']>) => {
      hasSeenMore = true;
      await storage.ledger.append(...records);
    };
    const ids = async () => (await storage.checkpoints.page(0, 1000)).map(({ checkpointId }) => checkpointId);
    const sealingCheck = async (of: Mandate) => {
      const { body } = await of.untilReady({ accept: 'application/json' });
      return (body.checks as Readonly<Record<string, { status: string; detail: string }>>).sealing;
    };
    const listedKids = async (of = mandate) => {
      const { status, text, body } = await of.get('/log/keys');
      expect(status, text).to.equal(200);
      return (body.keys as readonly { kid: string }[]).map(({ kid }) => kid);
    };
    const reports = () => mandate.log.lines.filter((line) => line.includes(REPORT)).length;

    /** Runs the passes of two intervals. Nothing may be sealed, and the log may not grow. */
    async function expectRefused(...sentences: readonly string[]): Promise<void> {
      const [before, known, state] = [await ids(), reports(), await storage.transparencyLog.state()];
      for (let pass = 0; pass < 2; pass += 1) {
        await mandate.jobs.seal();
        await mandate.jobs.growLog();
      }
      expect(await ids()).to.deep.equal(before);
      const after = await storage.transparencyLog.state();
      expect([after?.size, after?.root]).to.deep.equal([state?.size, state?.root]);
      const check = await sealingCheck(mandate);
      expect(check).to.include({ status: 'Degraded' });
      for (const sentence of sentences) expect(check?.detail).to.include(sentence);
      expect(reports() - known).to.equal(1);
    }

    const alter = () =>
      tampering.sql("update ledger set reason = 'harmless' where seq = 3", 'delete from ledger where seq = 4');
    const named = () => `is signed with the key ${stranger.signer.kid}, which is not configured here`;

    it('is not sealed further after all checkpoints were signed with another key, which the ledger names', async () => {
      const jwk = JSON.stringify({ ...stranger.jwks.keys[0], kid: 'old-2025' });
      await alter();
      const since = database.engine === 'sqlite' ? '1' : "'2025-01-01Z'";
      await tampering.sql(
        `insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to)
          values ('checkpoint', 'old-2025', '${stranger.signer.kid}', '${jwk}', ${since}, ${since})`,
      );
      await append({
        at: mandate.clock.now(),
        event: 'key.retired',
        decision: 'allow',
        reason: 'checkpoint_key',
        detail: stranger.signer.kid,
      });
      await sealAnew(storage, tampering, { ...stranger.signer, kid: 'old-2025' });
      await expectRefused(
        'Checkpoint 3 is not the one that this process saw',
        'is signed with the key old-2025, which is not configured here',
      );
      expect(await listedKids()).to.not.include('old-2025');
      // A restart forgets the checkpoints, but not which keys are configured.
      await withService(mandate.another({}), async (restarted) => {
        await restarted.jobs.seal();
        expect((await sealingCheck(restarted))?.detail).to.include('old-2025, which is not configured here');
        expect(await ids()).to.have.length(3);
      });
      await tampering.sql("delete from log_keys where kid = 'old-2025'");
    });

    it('has its keys named by GET /log/keys only if their use was sealed', async () => {
      const own = await listedKids();
      expect(own).to.have.length(2);
      const [jwk] = stranger.jwks.keys;
      const pem = newNoteKey().reveal();
      const read = await readNoteSigner(pem, { hash: sha256Bytes, name: 'mandate.test/ledger', type: ED25519 });
      if (read.kind !== 'read') throw new Error(read.problem);
      const { key, thumbprint: logThumbprint } = read.signer;
      const logKid = `${key.name}+${key.keyId}`;
      const rows: readonly (readonly [use: string, kid: string, thumbprint: string, key: string])[] = [
        // The record of this one is sealed, and the key never signed.
        ['checkpoint', stranger.signer.kid, stranger.signer.kid, JSON.stringify(jwk)],
        ['checkpoint', 'old-2025', stranger.signer.kid, JSON.stringify({ ...jwk, kid: 'old-2025' })],
        ['checkpoint', 'broken', stranger.signer.kid, 'no JSON'],
        ['checkpoint', 'other', 'another-thumbprint', JSON.stringify({ ...jwk, kid: 'other' })],
        ['log', logKid, logThumbprint, formatVerifierKey(key)],
        ['log', 'mandate.test/ledger+00000000', logThumbprint, 'no+verifier+key'],
      ];
      const since = database.engine === 'sqlite' ? '1' : "'2025-01-01Z'";
      for (const [use, kid, thumbprint, publicKey] of rows) {
        await tampering.sql(
          `insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to)
            values ('${use}', '${kid}', '${thumbprint}', '${publicKey}', ${since}, ${since})`,
        );
      }
      await append({
        at: mandate.clock.now(),
        event: 'key.retired',
        decision: 'allow',
        reason: 'checkpoint_key',
        detail: stranger.signer.kid,
      });
      // Sealed too, and nothing shows that the service used this key of the log.
      await append({
        at: mandate.clock.now(),
        event: 'key.retired',
        decision: 'allow',
        reason: 'log_key',
        detail: logThumbprint,
      });
      await withService(mandate.another({}), async (other) => {
        expect(await listedKids(other)).to.deep.equal(own);
        await other.jobs.seal();
        expect(await sealingCheck(other)).to.include({ status: 'Healthy' });
        other.clock.advance(60);
        expect(await listedKids(other)).to.deep.equal(own);
      });
      await tampering.sql(`delete from log_keys where kid not in (${own.map((kid) => `'${kid}'`).join(', ')})`);
    });

    it('is not sealed further after all checkpoints were deleted', async () => {
      await alter();
      await tampering.sql('delete from checkpoints');
      await expectRefused('Checkpoint 3 is missing, which this process saw: there are no checkpoints at all');
    });

    it('is not sealed further, and the service starts, after a checkpoint got an impossible value', async () => {
      const never = database.engine === 'sqlite' ? '9223372036854775000' : "'infinity'";
      await tampering.sql(`update checkpoints set closed_at = ${never} where checkpoint_id = 3`);
      await expectRefused('Checkpoint 3 is not the one');
      await withService(mandate.another({}), async (restarted) => {
        expect((await sealingCheck(restarted))?.detail).to.include('another party altered or signed it');
      });
    });

    it('is not sealed, and its log does not grow, over a checkpoint that another party added', async () => {
      const columns = 'first_seq, last_seq, tree_size, root_hash, prev_checkpoint_hash, closed_at, kid, signature';
      await append({ at: mandate.clock.now(), event: 'admin.denied', decision: 'deny', reason: 'x' });
      await tampering.sql(
        `insert into checkpoints (checkpoint_id, ${columns}) select 4, ${columns} from checkpoints where checkpoint_id = 3`,
        `update checkpoints set first_seq = last_seq + 1, last_seq = (select max(seq) from ledger) where checkpoint_id = 4`,
      );
      await sealAnew(storage, tampering, stranger.signer, 4);
      await expectRefused('The newest checkpoint, 4,', named());
    });
  });

  describe(`Two replicas that seal one ledger on ${database.name}`, () => {
    const signing = sharedSigningKey();
    let one: Mandate;
    before(async () => {
      one = await startMandate({ database, settings: signing });
    });
    after(() => one.stop());

    const status = async (of: Mandate) =>
      ((await of.untilReady({ accept: 'application/json' })).body.checks as Record<string, unknown>).sealing;

    it('differ during a rotation that skipped a step: the one without the next key does not seal until it has it', async () => {
      const next = sharedSigningKey()['Service:Signing:Keys:0:Pem'] ?? '';
      const keys = { 'Service:Signing:Keys:1:Pem': next, 'Service:Signing:Keys:1:Kid': 'next' };
      await withService(one.another({ ...keys, 'Service:Signing:ActiveKid': 'next' }), async (ahead) => {
        await ahead.block('first', 'disabled');
        await ahead.jobs.seal();
        await one.block('second', 'disabled');
        await one.jobs.seal();
        expect(await status(one)).to.include({ status: 'Degraded' });
        expect(await status(ahead)).to.include({ status: 'Healthy' });
        const kid = (await publishedKid(one)) ?? '';
        await withService(one.another({ ...keys, 'Service:Signing:ActiveKid': kid }), async (behind) => {
          await behind.jobs.seal();
          await one.jobs.seal();
          expect(await status(one)).to.include({ status: 'Healthy' });
        });
      });
    });
    it('let a key leave the settings once a checkpoint by another key follows its last, and not before', async () => {
      await withService(startMandate({ database, settings: signing }), async (service) => {
        await service.block('first', 'disabled');
        await service.jobs.seal();
        const next = sharedSigningKey();
        await withService(service.another(next), async (alone) => {
          await alone.block('second', 'disabled');
          await alone.jobs.seal();
          expect(await status(alone)).to.include({ status: 'Degraded' });
          const newest = async () => {
            const { body } = await service.admin('GET', '/audit/checkpoints');
            return (body.checkpoints as readonly Record<string, unknown>[]).at(-1);
          };
          expect(await newest()).to.include({ checkpoint_id: 1, kid: await publishedKid(service) });
          const former = createPublicKey(signing['Service:Signing:Keys:0:Pem'] ?? '').export({
            type: 'spki',
            format: 'pem',
          });
          const kid = (await publishedKid(alone)) ?? '';
          const half = { 'Service:Signing:Keys:1:Pem': former.toString(), 'Service:Signing:ActiveKid': kid };
          await withService(service.another({ ...next, ...half }), async (between) => {
            expect((await between.get('/admin/agents')).status).to.equal(401);
            await between.jobs.seal();
          });
          expect(await newest()).to.include({ checkpoint_id: 2, kid });
          await alone.jobs.seal();
          expect(await status(alone)).to.include({ status: 'Healthy' });
          await alone.block('third', 'disabled');
          await alone.jobs.seal();
          expect(await newest()).to.include({ checkpoint_id: 3, kid });
        });
      });
    });

    const publishedKid = async (of: Mandate) =>
      ((await of.get('/.well-known/jwks.json')).body.keys as { kid: string }[])[0]?.kid;
  });
}
