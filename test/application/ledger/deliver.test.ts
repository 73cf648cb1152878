import { expect } from 'chai';
import { deliverRecords } from '../../../application/ledger/deliver.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Drain, DrainOutcome } from '../../../application/ports/outbox.ts';
import { movedClock } from '../../support/moved-clock.ts';

describe('deliverRecords', () => {
  const clock = movedClock();
  /** Delivers once from an outbox that returns these outcomes in order, and then always `last`. */
  async function pass(outcomes: readonly DrainOutcome[], last: DrainOutcome, shouldContinue?: () => boolean) {
    const drains: Drain[] = [];
    const outbox = {
      async drain(drain: Drain) {
        drains.push(drain);
        clock.advance(1);
        return outcomes[drains.length - 1] ?? last;
      },
    };
    const sink = { deliver: async () => true };
    await deliverRecords({ outbox, sink, clock, batchSize: 7 }, shouldContinue);
    return drains;
  }
  const delivered = { kind: 'delivered', count: 7 } as const;
  const failed = { kind: 'failed', count: 7 } as const;
  const nothing = { kind: 'nothing_due' } as const;

  it('sends batches until no record is due, and reads the clock for each batch', async () => {
    const drains = await pass([delivered, delivered], nothing);
    expect(drains.map(({ limit }) => limit)).to.deep.equal([7, 7, 7]);
    const [first, second] = drains;
    expect(second?.now).to.be.above(first?.now ?? Number.POSITIVE_INFINITY);
  });

  it('ends at the first failed batch', async () => {
    expect(await pass([delivered, failed], delivered)).to.have.lengthOf(2);
  });

  it('ends after a maximum number of batches even if more records are due', async () => {
    expect(await pass([], delivered)).to.have.lengthOf(1000);
  });

  it('ends between two batches when shouldContinue returns false', async () => {
    let asked = 0;
    expect(await pass([], delivered, () => ++asked <= 3)).to.have.lengthOf(3);
  });

  it('throws if the database is unavailable', async () => {
    const away = new StorageUnavailable('away');
    const outbox = { drain: () => Promise.reject(away) };
    const thrown: unknown = await deliverRecords({
      outbox,
      sink: { deliver: async () => true },
      clock,
      batchSize: 1,
    }).catch((error: unknown) => error);
    expect(thrown).to.equal(away);
  });
});
