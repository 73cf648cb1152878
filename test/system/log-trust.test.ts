/** The log signs only what the service sealed, and no tree that contradicts one that the process signed or saw. */

import { createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import { sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import type { CheckpointSigner } from '../../application/ports/keys.ts';
import { toHex } from '../../domain/ledger/checkpoint.ts';
import { entryHash } from '../../domain/ledger/merkle-tree.ts';
import { grown, rootOf } from '../../domain/log/growing-tree.ts';
import { logEntry } from '../../domain/log/log-entry.ts';
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

    it('does not sign a checkpoint whose signature is not of the key that it names', async () => {
      await startBehind();
      tampering = await startTampering(outside, database.engine);
      await tampering.sql(`update checkpoints set signature = '${'0'.repeat(128)}' where checkpoint_id = 4`);
      await expectStopped('Checkpoint 4 has an invalid signature', 3);
    });

    it('does not begin over a checkpoint that another key signed before the log was turned on', async () => {
      await start({});
      for (let checkpoint = 1; checkpoint <= 3; checkpoint += 1) await sealTwo();
      await replaceSigned(2, stranger.signer);
      await withService(mandate.another(witnessed()), async (logging) => {
        await watched(logging);
        for (let pass = 0; pass < 2; pass += 1) await grow(logging);
        expect((await storage.transparencyLog.state())?.note).to.equal(undefined);
        expect((await logCheck(logging))?.detail).to.include('Checkpoint 3 does not link to the one before it');
      });
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

    it('names a former key of checkpoints only if a sealed record names it, and the links lead to its checkpoint', async () => {
      await start({});
      await sealTwo();
      const half = createPublicKey(real.pem).export({ type: 'spki', format: 'pem' }).toString();
      const next = { 'Service:Signing:Keys:0:Pem': stranger.pem };
      const both = { ...next, 'Service:Signing:Keys:1:Pem': half, 'Service:Signing:ActiveKid': stranger.signer.kid };
      await withService(mandate.another(both), async (rotated) => {
        await rotated.block('later', 'disabled');
        await rotated.jobs.seal();
      });
      const names = { event: 'key.retired', decision: 'allow', reason: 'checkpoint_key' } as const;
      const row = ({ signer, jwks }: SealingKey) => {
        const since = database.engine === 'sqlite' ? '1' : "'2025-01-01Z'";
        return `insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to) values
          ('checkpoint', '${signer.kid}', '${signer.kid}', '${JSON.stringify(jwks.keys[0])}', ${since}, ${since})`;
      };
      const kids = async (of: Mandate) => {
        const { keys } = (await of.get('/log/keys')).body as { keys: readonly { use: string; kid: string }[] };
        return keys.flatMap(({ use, kid }) => (use === 'checkpoint' ? [kid] : []));
      };

      // Checkpoint 2 did not seal the record as it is now.
      tampering = await startTampering(outside, database.engine);
      await tampering.sql(
        row(real),
        `update ledger set event = 'key.retired', decision = 'allow', reason = 'checkpoint_key', detail = '${real.signer.kid}'
          where seq = (select last_seq from checkpoints where checkpoint_id = 2)`,
      );
      await withService(mandate.another({ ...next, ...LOG }), async (reader) => {
        expect(await kids(reader)).to.deep.equal([stranger.signer.kid]);
      });
      // Takes the records of the reader's start out of the ledger as well: an instance that saw them decides nothing more.
      await tampering.undo();
      const own = await makeSealingKey();
      await withService(mandate.another({ ...next, ...LOG }), async (service) => {
        for (const key of [real, own]) {
          await storage.ledger.append({ ...names, at: mandate.clock.now(), detail: key.signer.kid });
        }
        await service.jobs.seal();
        service.clock.advance(60);
        expect(await kids(service)).to.have.members([real.signer.kid, stranger.signer.kid]);
      });

      // A record of this key is sealed. But checkpoint 2 does not link to the checkpoint that the key signed.
      await tampering.sql(row(own));
      await sealAnew(storage, tampering, own.signer, 1, 1);
      await withService(mandate.another({ ...next, ...LOG }), async (restarted) => {
        expect(await kids(restarted)).to.deep.equal([stranger.signer.kid]);
      });
    });

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

    it('signs no tree that does not begin with the one that the process signed', async () => {
      await start(LOG);
      for (let checkpoint = 1; checkpoint <= 3; checkpoint += 1) {
        await sealTwo();
        await grow();
      }
      await sealTwo();
      await replaceSigned(1, stranger.signer);
      await writeTree();
      for (let pass = 0; pass < 2; pass += 1) await grow();
      expect((await storage.transparencyLog.state())?.note).to.equal(undefined);
      expect(await sizeShown()).to.equal(3);
      expect((await logCheck())?.detail).to.include(
        'The stored tree of 4 leaves does not continue the tree of 3 that this process signed or saw: it was replaced.',
      );
    });

    for (const [when, replacedId] of [
      ['a running service', 4],
      ['a restarted service', 2],
    ] as const) {
      it(`signs no stored tree over a checkpoint that another key signed, by ${when}`, async () => {
        await start(LOG);
        for (let checkpoint = 1; checkpoint <= 3; checkpoint += 1) {
          await sealTwo();
          await grow();
        }
        for (let checkpoint = 4; checkpoint <= 5; checkpoint += 1) await sealTwo();
        await replaceSigned(replacedId, stranger.signer);
        await writeTree();
        const service = when === 'a running service' ? mandate : await mandate.another({});
        for (let pass = 0; pass < 2; pass += 1) await grow(service);
        expect((await storage.transparencyLog.state())?.note).to.equal(undefined);
        const sentence = `The log signs no further tree. Checkpoint ${replacedId + 1} does not link to the one before it`;
        expect((await logCheck(service))?.detail).to.include(sentence);
        if (service !== mandate) await service.stop();
      });
    }

    /** Stores the tree over the present checkpoints, not signed. */
    async function writeTree(): Promise<void> {
      const leaves = (await storage.checkpoints.page(0, 10)).map((each) => entryHash(sha256Bytes, logEntry(each)));
      const { tree, tiles } = grown(sha256Bytes, { size: 0, edge: [] }, leaves);
      await tampering.sql(
        'delete from log_tiles',
        ...tiles.map(
          ({ level, index, hashes }) =>
            `insert into log_tiles (level, tile_index, hashes)
              values (${level}, ${index}, '${Buffer.from(hashes).toString('base64')}')`,
        ),
        `update log_state set size = ${tree.size}, root = '${toHex(rootOf(sha256Bytes, tree))}', note = null`,
      );
    }
  });
}
