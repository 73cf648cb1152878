import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import type { Run } from '../../../../adapters/storage/postgres/pool/pool.ts';
import { setReader } from '../../../../adapters/storage/postgres/set-reader.ts';
import type { Rows } from '../../../../adapters/storage/rows/column.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import type { TaskId, TokenId } from '../../../../domain/identifiers.ts';
import { openedTask } from '../../../contract/storage-fixtures.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/databases.ts';
import type { Storage } from '../../../support/storage.ts';

const WAIT_MS = 2_000;
const LOOKUP = { name: 'find_color', keys: 'fruit text', found: 'select color from fruits f where f.fruit = q.fruit' };
const COLORS: Readonly<Record<string, string>> = { lemon: 'yellow', lime: 'green', plum: 'blue' };

interface Key {
  readonly nth: number;
  readonly fruit: string;
}

/** A statement that waits for its answer. */
interface Call {
  readonly keys: readonly Key[];
  answer(): void;
  fail(error: unknown): void;
}

/** Reads colors by fruit. The test answers the statements in place of Postgres. */
function reader() {
  const calls: Call[] = [];
  const run: Run = <Row>(_: unknown, [keys]: readonly unknown[] = []) =>
    new Promise<Rows<Row>>((resolve, reject) => {
      const asked = JSON.parse(String(keys)) as readonly Key[];
      const known = asked.filter(({ fruit }) => fruit in COLORS);
      // The rows have another order than the keys.
      const rows = known.map(({ nth, fruit }) => ({ nth, color: COLORS[fruit] })).reverse() as Row[];
      calls.push({ keys: asked, answer: () => resolve({ rows, count: rows.length }), fail: reject });
    });
  const read = setReader<{ color: string }>(run, LOOKUP, WAIT_MS);
  const colorOf = (fruit: string) =>
    read({ fruit }).then(
      (row) => row?.color,
      (error: unknown) => error,
    );
  return { calls, colorOf };
}

const fruitsOf = (call: Call | undefined) => call?.keys.map(({ fruit }) => fruit);
/** The server's refusal of one statement. */
const refusal = (code: string) =>
  Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code, severity: 'ERROR' });

describe('the reader of sets on Postgres', () => {
  it('looks up the keys of one event loop turn in one statement, and gives each caller its row', async () => {
    const { calls, colorOf } = reader();
    const fruits = ['lemon', 'lime', 'lemon', 'stone', 'plum', 'lemon'];
    const colors = Promise.all(fruits.map(colorOf));
    await nextTurn();
    expect(calls.map(fruitsOf)).to.deep.equal([fruits]);
    calls[0]?.answer();
    expect(await colors).to.deep.equal(['yellow', 'green', 'yellow', undefined, 'blue', 'yellow']);
  });

  it('has at most two statements under way, with at most 64 keys each, and takes answers in any order', async () => {
    const { calls, colorOf } = reader();
    const first = Array.from({ length: 64 }, () => colorOf('lemon'));
    const second = Array.from({ length: 64 }, () => colorOf('lime'));
    const third = colorOf('plum');
    await nextTurn();
    expect(calls.map(({ keys }) => keys.length)).to.deep.equal([64, 64]);
    calls[1]?.answer();
    expect(new Set(await Promise.all(second))).to.deep.equal(new Set(['green']));
    await nextTurn();
    expect(calls).to.have.length(3);
    calls[2]?.answer();
    expect(await third).to.equal('blue');
    calls[0]?.answer();
    expect(new Set(await Promise.all(first))).to.deep.equal(new Set(['yellow']));
  });

  it('fails only the key that Postgres cannot look up, and looks up the others one after another', async () => {
    const { calls, colorOf } = reader();
    const colors = Promise.all(['lemon', 'rotten', 'lime'].map(colorOf));
    const rotten = refusal('22P05');
    for (let nth = 0; nth < 4; nth++) {
      await nextTurn();
      expect(calls).to.have.length(nth + 1);
      if (fruitsOf(calls[nth])?.includes('rotten')) calls[nth]?.fail(rotten);
      else calls[nth]?.answer();
    }
    expect(calls.map(fruitsOf)).to.deep.equal([['lemon', 'rotten', 'lime'], ['lemon'], ['rotten'], ['lime']]);
    expect(await colors).to.deep.equal(['yellow', rotten, 'green']);
  });

  it('does not repeat a statement that a busy server refused, and still looks up later keys', async () => {
    const { calls, colorOf } = reader();
    const { now } = performance;
    const colors = Promise.all(['lemon', 'lime'].map(colorOf));
    await nextTurn();
    const busy = new StorageUnavailable('too many connections', { cause: refusal('53300') });
    const waiting = colorOf('plum');
    performance.now = () => now.call(performance) + WAIT_MS + 1;
    try {
      calls[0]?.fail(busy);
      expect(await colors).to.deep.equal([busy, busy]);
      await nextTurn();
      expect(calls.map(fruitsOf)).to.deep.equal([['lemon', 'lime'], ['plum']]);
      calls[1]?.answer();
      expect(await waiting).to.equal('blue');
    } finally {
      performance.now = now;
    }
  });

  it('refuses keys past their time limit without a statement on a frozen server, and reads again once it answers', async () => {
    const { calls, colorOf } = reader();
    const underWay = Array.from({ length: 128 }, () => colorOf('lemon'));
    const behind = Array.from({ length: 200 }, () => colorOf('lime'));
    await nextTurn();
    expect(calls).to.have.length(2);
    const { now } = performance;
    const later = now.call(performance) + WAIT_MS + 1;
    performance.now = () => later;
    try {
      for (const { fail } of calls) fail(new StorageUnavailable('Query read timeout'));
      for (const thrown of await Promise.all([...underWay, ...behind])) {
        expect(thrown).to.be.instanceOf(StorageUnavailable);
      }
      expect(calls).to.have.length(2);
      const thawed = colorOf('plum');
      await nextTurn();
      calls[2]?.answer();
      expect(await thawed).to.equal('blue');
      // After a slow answer the reader still looks up the keys that waited for it.
      const slow = Array.from({ length: 128 }, () => colorOf('lemon'));
      const patient = colorOf('lime');
      await nextTurn();
      performance.now = () => later + WAIT_MS + 1;
      for (const call of calls.slice(3)) call.answer();
      await Promise.all(slow);
      await nextTurn();
      calls[5]?.answer();
      expect(await patient).to.equal('green');
    } finally {
      performance.now = now;
    }
  });
});

describe('grants and the facts of tokens, read in sets from Postgres', () => {
  let database: FreshDatabase;
  let storage: Storage;
  before(async function () {
    this.timeout(60_000);
    database = await freshDatabase('postgres');
    storage = await database.open();
  });
  after(() => database.drop());

  it('are those that each caller asked for, even if other callers ask for names that Postgres cannot store', async () => {
    const [one, other] = [await openedTask(storage), await openedTask(storage)];
    const unstorable = ['\u0000', '\ud800', '"', '\\u0000', '{"nth":0}'];
    const grants = Promise.all(
      [one, other, one].map(({ task, grantHash }) => storage.tasks.findGrant(task.agentId, grantHash)),
    );
    const facts = Promise.all([one, other].map(({ task }) => storage.tasks.tokenFacts('tok' as TokenId, task.taskId)));
    // An agent must not find the grant of another agent.
    const stranger = storage.tasks.findGrant(other.task.agentId, one.grantHash);
    const odd = unstorable.flatMap((text) => [
      storage.tasks.findGrant(one.task.agentId, text),
      storage.tasks.tokenFacts(text as TokenId, text as TaskId),
    ]);
    const outcomes = await Promise.allSettled(odd);
    expect((await grants).map((grant) => grant?.task)).to.deep.equal([one.task, other.task, one.task]);
    expect((await facts).map((found) => found?.task.expiresAt)).to.deep.equal(
      [one, other].map(({ task }) => task.expiresAt),
    );
    expect(await stranger).to.equal(undefined);
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') expect(outcome.value).to.equal(undefined);
  });

  it('are refused once the database is closed', async () => {
    await storage.close();
    const { tasks } = storage;
    const asked = [tasks.findGrant('agent:a' as never, 'hash'), tasks.tokenFacts('tok' as TokenId, 'task' as TaskId)];
    for (const outcome of await Promise.allSettled(asked)) {
      expect(outcome.status === 'rejected' && outcome.reason).to.be.instanceOf(StorageUnavailable);
      expect(String(outcome.status === 'rejected' && outcome.reason)).to.include('closed');
    }
  });
});
