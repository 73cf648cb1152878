/** The log signs only what the service sealed, and no tree that contradicts one that the process signed or saw. */

import { createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import type { CheckpointSigner } from '../../application/ports/keys.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { sealAnew } from '../support/ledger/resealing.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { startTampering, type Tampering } from '../support/ledger/tampering.ts';
import { type ServedWitness, servedWitness } from '../support/log/served-witness.ts';
import { type Mandate, startMandate, withService } from '../support/mandate.ts';
import type { Storage } from '../support/storage.ts';
import { logKeySettings } from '../support/transparency-log.ts';

const LOG = { ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };

for (const database of databasesByLength) {
  describe(`A log whose database its owner changes on ${database.name}`, function () {
    this.timeout(60_000);
    let real: SealingKey;
    let stranger: SealingKey;
    let fresh: FreshDatabase;
    let storage: Storage;
    let outside: OutsideConnection;
    let tampering: Tampering;
    let witness: ServedWitness;
    let mandate: Mandate;
    beforeEach(async () => {
      [real, stranger] = await Promise.all([makeSealingKey(), makeSealingKey()]);
      witness = await servedWitness('auditor.test/w');
    });
    afterEach(async () => {
      await outside.close();
      await storage.close();
      await mandate.stop();
      await witness.close();
    });

    async function start(settings: Readonly<Record<string, string>>): Promise<void> {
      fresh = await database.fresh();
      mandate = await startMandate({
        database: { ...database, fresh: async () => fresh },
        settings: { 'Service:Signing:Keys:0:Pem': real.pem, ...settings },
      });
      storage = await fresh.open();
      outside = await connectOutside(fresh, 'owner');
    }
    const witnessed = () => ({
      ...LOG,
      'Service:Audit:Log:Witnesses:0:Url': witness.url,
      'Service:Audit:Log:Witnesses:0:VKey': witness.vkey,
    });
    async function watched(of: Mandate): Promise<void> {
      const { keys } = (await of.get('/log/keys')).body as { keys: readonly { use: string; vkey?: string }[] };
      witness.watch(keys.find(({ use }) => use === 'log')?.vkey ?? '');
    }
    async function sealTwo(): Promise<void> {
      for (const person of ['ada', 'grace']) await mandate.block(`${person}-${Math.random()}`, 'disabled');
      await mandate.jobs.seal();
    }
    async function grow(of = mandate): Promise<void> {
      await of.jobs.growLog();
      await of.jobs.askWitnesses();
      // An instance reads the state of the log at most once a second.
      of.clock.advance(2);
    }
    async function replaceSigned(checkpointId: number, signer: CheckpointSigner): Promise<void> {
      tampering = await startTampering(outside, database.engine);
      const last = `(select last_seq from checkpoints where checkpoint_id = ${checkpointId})`;
      await tampering.sql(`update ledger set sponsor = 'victim', scope = 'everything' where seq = ${last}`);
      await sealAnew(storage, tampering, signer, checkpointId, checkpointId);
    }
    const sizeShown = async (of = mandate) => Number((await of.get('/log/checkpoint')).text.split('\n')[1]);
    async function logCheck(of = mandate): Promise<{ readonly status: string; readonly detail: string } | undefined> {
      const { body } = await of.untilReady({ accept: 'application/json' });
      return (body.checks as Readonly<Record<string, { status: string; detail: string }>>).log;
    }

    /** Two passes sign nothing. The log line, and the check of `/readyz`, have the sentence. */
    async function expectStopped(sentence: string, size: number, of = mandate): Promise<void> {
      for (let pass = 0; pass < 2; pass += 1) await grow(of);
      expect((await storage.transparencyLog.state())?.size).to.equal(size);
      expect(await sizeShown(of)).to.equal(size);
      const check = await logCheck(of);
      expect(check?.status).to.equal('Degraded');
      expect(check?.detail).to.include('The log signs no further tree.').and.to.include(sentence);
      expect(of.log.lines.filter((line) => line.includes('the transparency log does not grow'))).to.have.length(1);
    }

    /** Three checkpoints are in the log, and cosigned. Two are sealed, and the log did not grow yet. */
    async function startBehind(): Promise<void> {
      await start(witnessed());
      await watched(mandate);
      for (let checkpoint = 1; checkpoint <= 3; checkpoint += 1) {
        await sealTwo();
        await grow();
      }
      expect(await sizeShown()).to.equal(3);
      for (let checkpoint = 4; checkpoint <= 5; checkpoint += 1) await sealTwo();
    }

    it('does not sign a checkpoint that another key signed in the place of a sealed one', async () => {
      await startBehind();
      await replaceSigned(4, stranger.signer);
      await expectStopped('Checkpoint 5 does not link to the one before it', 3);
    });

    it('waits for the public half of the key that signed the first checkpoints', async () => {
      await start({});
      await sealTwo();
      const half = createPublicKey(real.pem).export({ type: 'spki', format: 'pem' }).toString();
      const next = { 'Service:Signing:Keys:0:Pem': stranger.pem };
      const both = { ...next, 'Service:Signing:Keys:1:Pem': half, 'Service:Signing:ActiveKid': stranger.signer.kid };
      await withService(mandate.another(both), async (rotated) => {
        await rotated.block('later', 'disabled');
        await rotated.jobs.seal();
      });
      await withService(mandate.another({ ...next, ...LOG }), async (without) => {
        await expectWaiting(without, real.signer.kid);
      });
      await withService(mandate.another({ ...both, ...LOG }), async (complete) => {
        await grow(complete);
        expect(await sizeShown(complete)).to.equal(2);
        expect((await logCheck(complete))?.status).to.equal('Healthy');
      });
    });

    async function expectWaiting(of: Mandate, kid: string): Promise<void> {
      const sentence = `Checkpoint 1 is signed with the key ${kid}, which is not configured here: if this service signed with that key, configure its public half`;
      const atStart = await logCheck(of);
      expect(atStart?.status).to.equal('Degraded');
      for (let pass = 0; pass < 2; pass += 1) await grow(of);
      expect((await storage.transparencyLog.state())?.note).to.equal(undefined);
      expect((await logCheck(of))?.detail).to.include(sentence);
      expect(of.log.lines.filter((line) => line.includes('the transparency log does not grow'))).to.have.length(1);
    }

    it('says that readers do not get its newest note, if the database withholds it', async () => {
      await start(LOG);
      await sealTwo();
      await grow();
      for (const [change, undone, sentence] of [
        [
          'contradicted_size = 999999',
          'contradicted_size = null',
          'Readers do not get the newest note, of 2 leaves: the database says that a witness contradicted it.',
        ],
        [
          'published_size = 999999',
          'published_size = 2',
          'Readers do not get the newest note, of 3 leaves: the database names a published note of 999999.',
        ],
      ] as const) {
        await outside.sql(`update log_state set ${change}`);
        await sealTwo();
        await grow();
        expect(await logCheck()).to.deep.include({ status: 'Degraded', detail: sentence });
        await outside.sql(`update log_state set ${undone}`);
      }
      await sealTwo();
      await grow();
      expect(await sizeShown()).to.equal(4);
      expect(await logCheck()).to.include({ status: 'Healthy' });
    });
  });
}
