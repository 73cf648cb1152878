import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { missingPartitions, PAUSE_MS } from '../../../../adapters/storage/postgres/missing-partitions.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { capturedLog } from '../../../support/captured-log.ts';

describe('The creation of missing partitions', () => {
  it('runs once at a time, begins at most once in ten seconds, and logs its outcome', async () => {
    let now = 0;
    const running: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
    const create = () => new Promise<void>((resolve, reject) => void running.push({ resolve, reject }));
    const log = capturedLog();
    const make = missingPartitions(create, () => now, log);
    for (let time = 0; time < 100; time++) make();
    expect(running).to.have.length(1);
    now += 10 * PAUSE_MS;
    make();
    expect(running, 'the first still runs').to.have.length(1);
    running[0]?.reject(new StorageUnavailable('No connection to Postgres'));
    await nextTurn();
    make();
    running[1]?.resolve();
    await nextTurn();
    now += PAUSE_MS - 1;
    make();
    expect(running).to.have.length(2);
    now += 1;
    make();
    expect(running).to.have.length(3);
    expect(log.lines.map((line) => JSON.parse(line).level)).to.deep.equal(['error', 'warn']);
  });
});
