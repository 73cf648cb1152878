import { expect } from 'chai';
import { partitionUpkeep } from '../../composition/partition-upkeep.ts';
import { type Recurring, startRecurring } from '../../composition/recurring.ts';
import { capturedLog } from '../support/captured-log.ts';
import { freshDatabase } from '../support/databases.ts';
import { movedClock } from '../support/moved-clock.ts';

const HALF_A_YEAR = 182 * 24 * 3600;

describe('The upkeep of partitions', () => {
  it('creates the partitions of the coming months at once, with the serving role', async function () {
    this.timeout(60_000);
    const database = await freshDatabase('postgres');
    const clock = movedClock();
    const storage = await database.open({ clock });
    clock.advance(HALF_A_YEAR);
    const entry = { at: clock.now(), event: 'token.denied', decision: 'deny', reason: 'invalid_request' } as const;
    expect((await storage.readiness.check()).status).to.equal('Unhealthy');
    let refused: unknown;
    await storage.ledger.append(entry).catch((error: unknown) => {
      refused = error;
    });
    expect(refused).to.have.property('name', 'StorageUnavailable');

    let upkeep: Recurring | undefined;
    await new Promise<void>((created) => {
      const watched = {
        createPartitions: (...given: Parameters<typeof storage.createPartitions>) =>
          storage.createPartitions(...given).then(created),
      };
      upkeep = startRecurring(partitionUpkeep(watched, clock, 2), capturedLog());
    });
    await upkeep?.stop();
    await storage.ledger.append(entry);
    expect((await storage.readiness.check()).status).to.equal('Healthy');
    await storage.close();
    await database.drop();
  });
});
