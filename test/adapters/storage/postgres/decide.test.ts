import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type DecidingConnections, postgresDecisions } from '../../../../adapters/storage/postgres/decide.ts';
import { BATCH_SIZE, BATCHES_UNDER_WAY, ENDING_LIMIT_MS } from '../../../../adapters/storage/postgres/limits.ts';
import type { Run } from '../../../../adapters/storage/postgres/pool/pool.ts';
import { append } from '../../../../application/decisions/append.ts';
import { endTasks } from '../../../../application/decisions/end-tasks.ts';
import { addAgent } from '../../../../application/decisions/write-agent.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { anEntry, aRefusal, newSponsorKey } from '../../../contract/storage-fixtures.ts';
import { anAgent, NOON } from '../../../support/domain-fixtures.ts';

const WAIT_MS = 2_000;
const nothing = async () => undefined;

describe('decisions on a frozen server', () => {
  it('are refused without a statement if no batch has taken them by their time limit', async () => {
    const started: ((error: Error) => void)[] = [];
    const transact = () => new Promise<never>((_, reject) => started.push(reject));
    const frozen = { transact, readThenWrite: transact };
    const connections: DecidingConnections = {
      own: frozen,
      operator: frozen,
      person: frozen,
      provider: frozen,
      writeMessage: nothing,
    };
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

describe('a decision on a slow server', () => {
  it('begins no statement after its time limit', async () => {
    const { now } = performance;
    const started: string[] = [];
    const run: Run = async (query) => {
      started.push(query.name ?? '');
      performance.now = () => now.call(performance) + ENDING_LIMIT_MS + 1;
      return { rows: [], count: 0 };
    };
    const transact = <A>(work: (run: Run) => Promise<A>) => work(run);
    const slow = {
      transact,
      readThenWrite: () => Promise.reject(new Error('no batch')),
    };
    const { decide } = postgresDecisions({
      own: slow,
      operator: slow,
      person: slow,
      provider: slow,
      writeMessage: nothing,
    });
    const selection = { kind: 'sponsor', sponsorKey: newSponsorKey() } as const;
    try {
      const thrown = await decide(endTasks, { selection, at: NOON, reason: 'operator_kill_switch' }).catch(
        (error: unknown) => error,
      );
      expect(thrown).to.be.instanceOf(StorageUnavailable);
    } finally {
      performance.now = now;
    }
    expect(started).to.deep.equal(['take_locks']);
  });
});

describe('close() of the decisions', () => {
  it('waits for a decision that runs outside of a batch, even before the decision has a connection', async () => {
    let fail: (error: Error) => void = () => undefined;
    const transact = () => new Promise<never>((_, reject) => (fail = reject));
    const pool = { transact, readThenWrite: transact };
    const { decide, close } = postgresDecisions({
      own: pool,
      operator: pool,
      person: pool,
      provider: pool,
      writeMessage: nothing,
    });
    const agent = anAgent();
    const addition = { agent, entry: anEntry('agent.registered'), refusal: aRefusal('agent_already_exists') };
    const order: string[] = [];
    const decided = decide(addAgent, addition).catch(() => order.push('decided'));
    await nextTurn();
    const closed = close().then(() => order.push('closed'));
    await nextTurn();
    expect(order).to.deep.equal([]);
    fail(new StorageUnavailable('No connection to Postgres'));
    await Promise.all([decided, closed]);
    expect(order).to.deep.equal(['decided', 'closed']);
  });
});
