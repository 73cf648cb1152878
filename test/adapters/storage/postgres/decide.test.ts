import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import createKnex from 'knex';
import { type DecidingConnections, postgresDecisions } from '../../../../adapters/storage/postgres/decide.ts';
import { BATCH_SIZE, BATCHES_UNDER_WAY } from '../../../../adapters/storage/postgres/limits.ts';
import { append } from '../../../../application/decisions/append.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { anEntry } from '../../../contract/scene.ts';

const WAIT_MS = 2_000;

describe('decisions on a server that is frozen', () => {
  it('that are in no batch when their time is up are refused without a call', async () => {
    const started: ((error: Error) => void)[] = [];
    const transact = () => new Promise<never>((_, reject) => started.push(reject));
    const frozen = { knex: createKnex({ client: 'pg' }), transact };
    const connections: DecidingConnections = { own: frozen, operator: frozen, provider: frozen };
    const { decide } = postgresDecisions(connections, WAIT_MS);
    const calls = Array.from({ length: BATCH_SIZE * BATCHES_UNDER_WAY + 100 }, () =>
      decide(append, anEntry('admin.denied')).catch((error: unknown) => error),
    );
    await nextTurn();
    expect(started).to.have.length(BATCHES_UNDER_WAY);
    const { now } = performance;
    const later = now.call(performance) + WAIT_MS + 1;
    performance.now = () => later;
    try {
      for (const reject of started) reject(new StorageUnavailable('Query read timeout'));
      for (const thrown of await Promise.all(calls)) expect(thrown).to.be.instanceOf(StorageUnavailable);
    } finally {
      performance.now = now;
    }
    expect(started).to.have.length(BATCHES_UNDER_WAY);
  });
});
