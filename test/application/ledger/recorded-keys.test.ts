/** With `--recorded-keys` `audit-verify` believes a key that is no longer published if a sealed record names it. */

import { expect } from 'chai';
import { readCheckpointVerifier } from '../../../adapters/jose/checkpoint-signatures.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { type VerifiableLedger, verifyLedger } from '../../../application/ledger/verify.ts';
import { databases, sqliteFile } from '../../support/databases.ts';
import { type Evidence, evidence } from '../../support/log/evidence.ts';

/** @param published which of the keys are published, and @param recorded which are recorded, each by number */
async function verify(
  ledger: Evidence,
  published: readonly number[],
  recorded: readonly number[],
  read: VerifiableLedger = ledger.storage.checkpoints,
) {
  const { keys } = JSON.parse(ledger.jwks()) as { keys: readonly { kid: string }[] };
  const verifierOf = (numbers: readonly number[]) => {
    const verifier = readCheckpointVerifier({ keys: numbers.map((number) => ({ ...keys[number] })) });
    if (verifier === undefined) throw new Error('no key');
    return verifier;
  };
  const { kind, ...outcome } = await verifyLedger({
    ledger: read,
    hash: sha256Bytes,
    turn: eventLoopTurn,
    verifier: verifierOf(published),
    recorded: recorded.map((number) => ({
      kid: keys[number]?.kid ?? '',
      thumbprint: ledger.thumbprints()[number] ?? '',
      verifier: verifierOf([number]),
    })),
  });
  return {
    kind,
    recorded: outcome.recorded.map(({ thumbprint }) => ledger.thumbprints().indexOf(thumbprint)),
    ...('fault' in outcome ? { fault: outcome.fault } : {}),
  };
}

const unknown = (checkpointId: number) => ({ kind: 'unknown_key', checkpointId });

for (const kind of databases) {
  describe(`Keys that the ledger recorded, on ${kind.name}`, () => {
    let ledger: Evidence;
    before(async () => {
      ledger = await evidence(kind);
      await ledger.publish();
      for (let rotation = 0; rotation < 2; rotation += 1) {
        await ledger.rotate();
        await ledger.publish();
      }
    });
    after(() => ledger.close());

    it('verify the checkpoints that they signed, and are named', async () => {
      expect(await verify(ledger, [2], [0, 1, 2])).to.deep.equal({ kind: 'intact', recorded: [0, 1] });
      expect(await verify(ledger, [0, 1, 2], [0, 1, 2])).to.deep.equal({ kind: 'intact', recorded: [] });
    });

    it('are not believed if no published key signed after the record that names them', async () => {
      expect(await verify(ledger, [1], [0, 2])).to.deep.include({
        kind: 'broken',
        fault: unknown(3),
        recorded: [0, 2],
      });
      expect(await verify(ledger, [0], [1])).to.deep.include({ kind: 'broken', fault: unknown(3) });
    });

    it('are not needed to find a key that is neither published nor recorded', async () => {
      expect(await verify(ledger, [2], [0])).to.deep.include({ kind: 'broken', fault: unknown(2) });
    });
  });
}

describe('A key that the ledger does not name', () => {
  it('is not believed if only its own checkpoint seals the record that names it', async () => {
    const ledger = await evidence(sqliteFile, { hasLog: false });
    try {
      await ledger.rotate();
      await ledger.signWith(0);
      const [detail = ''] = ledger.thumbprints();
      await ledger.append({ event: 'key.retired', reason: 'checkpoint_key', detail });
      await ledger.seal();
      await ledger.signWith(1);
      await ledger.append({});
      await ledger.seal();
      expect(await verify(ledger, [1], [0])).to.deep.equal({ kind: 'broken', recorded: [0], fault: unknown(1) });
    } finally {
      await ledger.close();
    }
  });

  it('is not believed, also if a record of another event or of another use has its thumbprint', async () => {
    const ledger = await evidence(sqliteFile, { hasLog: false });
    try {
      const [detail = ''] = ledger.thumbprints();
      await ledger.append({ event: 'audit.archived', reason: 'checkpoint_key', detail });
      await ledger.append({ event: 'key.activated', reason: 'log_key', detail });
      await ledger.seal();
      await ledger.rotate();
      await ledger.append({});
      await ledger.seal();
      expect(await verify(ledger, [1], [0])).to.deep.include({ kind: 'broken', fault: unknown(1) });
      await ledger.append({ event: 'key.retired', reason: 'checkpoint_key', detail });
      expect(await verify(ledger, [1], [0])).to.deep.include({ kind: 'broken', fault: unknown(1) });
      await ledger.seal();
      expect(await verify(ledger, [1], [0])).to.deep.equal({ kind: 'intact', recorded: [0] });
    } finally {
      await ledger.close();
    }
  });

  it('is not believed for checkpoints after the last one of a published key, also if a sealed record names it', async () => {
    const ledger = await evidence(sqliteFile, { hasLog: false });
    try {
      // The owner of the database can write such a record, and the service seals it. The key has the thumbprint 1.
      await ledger.rotate();
      const [, detail = ''] = ledger.thumbprints();
      await ledger.signWith(0);
      await ledger.append({ event: 'key.activated', reason: 'checkpoint_key', detail });
      await ledger.seal();
      await ledger.append({});
      await ledger.seal();
      expect(await verify(ledger, [0], [1])).to.deep.equal({ kind: 'intact', recorded: [] });
      await ledger.signWith(1);
      for (let forged = 0; forged < 2; forged += 1) {
        await ledger.append({});
        await ledger.seal();
      }
      expect(await verify(ledger, [0], [1])).to.deep.equal({ kind: 'broken', recorded: [1], fault: unknown(3) });
      // A published key that signs later must also seal a record of the key: the first record came before its last use.
      await ledger.signWith(0);
      await ledger.append({});
      await ledger.seal();
      expect(await verify(ledger, [0], [1])).to.deep.equal({ kind: 'broken', recorded: [1], fault: unknown(3) });
      await ledger.append({ event: 'key.retired', reason: 'checkpoint_key', detail });
      await ledger.seal();
      expect(await verify(ledger, [0], [1])).to.deep.equal({ kind: 'intact', recorded: [1] });
    } finally {
      await ledger.close();
    }
  });
});
