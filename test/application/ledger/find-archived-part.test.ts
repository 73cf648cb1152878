import { expect } from 'chai';
import { checkpointVerifier } from '../../../adapters/jose/checkpoint-signatures.ts';
import { eventLoopTurn } from '../../../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { findArchivedPart } from '../../../application/ledger/find-archived-part.ts';
import { sealedTrees } from '../../../application/ledger/sealed-trees.ts';
import type { CheckpointVerifier } from '../../../application/ports/keys.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { archivingOf, departedMonth } from '../../support/ledger/archivings.ts';
import { type LedgerFixture, ledgerFixture, newKeys } from '../../support/ledger-fixture.ts';

const SEPTEMBER = departedMonth('2020-09', [1, 1], [1, 2]);
const OCTOBER = departedMonth('2020-10', [2, 2], [3, 4]);

describe('The part of the ledger that was archived', () => {
  let fixture: LedgerFixture;
  let own: CheckpointVerifier;
  before(async () => {
    fixture = await ledgerFixture();
    own = checkpointVerifier(fixture.keys.published());
    await fixture.sealed(4);
    for (const months of [[SEPTEMBER], [SEPTEMBER, OCTOBER]]) {
      await fixture.storage.ledger.append({
        ...archivingOf('2026-01-01T00:00:00Z', ...months),
        at: fixture.clock.now(),
      });
      fixture.clock.advance(1);
      await fixture.sealed(2);
    }
  });
  after(() => fixture.close());

  async function found(verifier: CheckpointVerifier | undefined): Promise<string | undefined> {
    const { checkpoints } = fixture.storage;
    const trees = sealedTrees({
      checkpoints,
      verifier: verifier ?? own,
      hash: sha256Bytes,
      clock: fixture.clock,
      turn: eventLoopTurn,
    });
    const part = await findArchivedPart({ checkpoints, trees, hash: sha256Bytes, verifier })();
    return part?.months.at(-1)?.month;
  }

  /** The number of the newest record that says so. */
  const newest = async () => (await fixture.storage.checkpoints.archivings())[0]?.seq;

  it('is what the newest record says, if a configured key signed its checkpoint', async () => {
    expect(await found(own)).to.equal('2020-10');
    expect(await found(undefined)).to.equal('2020-10');
  });

  it('is believed of no checkpoint whose key is not configured, nor of a wrong signature', async () => {
    expect(await found(checkpointVerifier((await newKeys()).published()))).to.equal(undefined);
    expect(await found({ verify: async () => 'unknown_key' })).to.equal(undefined);
    expect(await found({ verify: async () => 'invalid_signature' })).to.equal(undefined);
  });

  it('is what the record before says, while the newest one differs from what was sealed', async () => {
    const seq = await newest();
    fixture.withoutTriggers.exec(`update ledger set detail = replace(detail, '2020_10', '2021_10') where seq = ${seq}`);
    expect(await found(own)).to.equal('2020-09');
    fixture.withoutTriggers.exec(`update ledger set detail = replace(detail, '2021_10', '2020_10') where seq = ${seq}`);
    expect(await found(own)).to.equal('2020-10');
  });

  it('is not what an unsealed record says, nor one with the number of a sealed record', async () => {
    const later = departedMonth('2020-11', [3, 3], [5, 7]);
    await fixture.storage.ledger.append({
      ...archivingOf('2026-01-01T00:00:00Z', SEPTEMBER, OCTOBER, later),
      at: plusSeconds(fixture.clock.now(), 9),
    });
    const unsealed = await newest();
    expect(await found(own)).to.equal('2020-10');
    fixture.withoutTriggers.exec(`delete from ledger where seq = 8; update ledger set seq = 8 where seq = ${unsealed}`);
    expect(await newest()).to.equal(8);
    expect(await found(own)).to.equal('2020-09');
  });
});
