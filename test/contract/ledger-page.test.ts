import { expect } from 'chai';
import fc from 'fast-check';
import type { LedgerPage, LedgerQuery } from '../../application/ports/ledger.ts';
import { type AgentId, makeTaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry, LedgerRecord } from '../../domain/ledger/record.ts';
import { agentIdOf, NOON } from '../support/domain-fixtures.ts';
import { byLength } from '../support/length.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry, ledgerOf } from './storage-fixtures.ts';

/** Records for a test whose pages have one record each. */
const MANY = byLength({ short: 1_000, full: 5_000 });
/** Later than all records of this file, so that no running append can get an earlier time. */
const MUCH_LATER = plusSeconds(NOON, 86_400);

onEveryDatabase('paging through the ledger', ({ storage }) => {
  const page = (query: Partial<LedgerQuery>) => storage().ledger.page({ limit: 100, now: MUCH_LATER, ...query });

  const tasks = [makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'), makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'), undefined];
  const agents = [agentIdOf('a'), agentIdOf('b'), undefined];
  const sponsors = ['ada', 'Ada', 'bob', undefined];
  const events = ['token.issued', 'token.denied', 'task.revoked'] as const;
  // Two long ones differ at their end only.
  const long = `https://api.example/${'é'.repeat(2000)}`;
  const audiences = ['https://api.example', `${long}1`, `${long}2`, undefined];
  const entries: readonly LedgerEntry[] = Array.from({ length: 200 }, (_, nth) => ({
    // Several records have the same time, and more have the same millisecond.
    at: instantFromMicros(NOON + Math.floor(nth / 7) * 250),
    event: events[Math.floor(nth / 2) % 3] ?? 'token.denied',
    audience: audiences[Math.floor(nth / 4) % 4],
    taskId: tasks[nth % 3],
    agentId: agents[Math.floor(nth / 3) % 3],
    sponsor: sponsors[Math.floor(nth / 5) % 4],
    decision: nth % 4 === 0 ? 'allow' : 'deny',
    reason: String(nth % 6),
    count: nth % 10 === 3 ? 5 : undefined,
  }));

  before(async () => {
    for (const entry of entries) await storage().ledger.append(entry);
  });

  const matches = (record: LedgerRecord, query: Partial<LedgerQuery>) =>
    (query.sponsor === undefined || record.sponsor === query.sponsor) &&
    (query.agentId === undefined || record.agentId === query.agentId) &&
    (query.taskId === undefined || record.taskId === query.taskId) &&
    (query.event === undefined || record.event === query.event) &&
    (query.audience === undefined || record.audience === query.audience) &&
    (query.reason === undefined || record.reason === query.reason) &&
    (query.decision === undefined || record.decision === query.decision) &&
    (query.from === undefined || record.at >= query.from) &&
    (query.to === undefined || record.at < query.to);

  const everyPage = async (query: Partial<LedgerQuery>): Promise<readonly LedgerRecord[]> => {
    const records: LedgerRecord[] = [];
    let after: LedgerPage['next'];
    do {
      const got = await page({ ...query, after });
      records.push(...got.records);
      after = got.next;
    } while (after !== undefined);
    return records;
  };

  it('returns every matching record once and in order, for all filters and page sizes', async () => {
    const all = await ledgerOf(storage());
    expect(all).to.have.length(entries.length);
    // The time of a record, or a microsecond before or after it.
    const instant = fc
      .tuple(fc.integer({ min: 0, max: 30 }), fc.constantFrom(-1, 0, 0, 1))
      .map(([step, beside]) => instantFromMicros(NOON + step * 250 + beside));
    const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          sponsor: fc.constantFrom(...sponsors, 'nobody'),
          agentId: fc.constantFrom(...agents),
          taskId: fc.constantFrom(...tasks),
          decision: fc.constantFrom('allow', 'deny', undefined),
          event: fc.constantFrom(...events, undefined, undefined),
          audience: fc.constantFrom(...audiences, undefined),
          reason: fc.constantFrom('1', '5', undefined, undefined, undefined),
          newestFirst: fc.boolean(),
          from: optional(instant),
          to: optional(instant),
          limit: fc.integer({ min: 1, max: 60 }),
          mostRead: optional(fc.integer({ min: 1, max: 60 })),
          now: fc.constantFrom(NOON, MUCH_LATER),
        }),
        async (query) => {
          const expected = all.filter((record) => matches(record, query));
          expect(await everyPage(query)).to.deep.equal(query.newestFirst ? expected.toReversed() : expected);
        },
      ),
      { numRuns: byLength({ short: 20, full: 60 }) },
    );
  });

  it('returns no cursor after the last record, even if that record fills its page', async () => {
    const whole = await page({ limit: entries.length });
    expect(whole.records).to.have.length(entries.length);
    expect(whole.next).to.equal(undefined);
    const almost = await page({ limit: entries.length - 1 });
    const last = almost.records.at(-1);
    expect(almost.next).to.deep.equal({ at: last?.at, seq: last?.seq });
  });

  it('counts the denials by minute and reason, the newest ones if there are too many', async () => {
    const denials = (await ledgerOf(storage())).filter(({ decision }) => decision === 'deny');
    const minute = instantFromMicros(NOON - (NOON % 60_000_000));
    const counted = (records: readonly LedgerRecord[]) => {
      const reasons = [...new Set(records.map(({ reason }) => reason))].sort();
      return reasons.map((reason) => {
        const those = records.filter((record) => record.reason === reason);
        const sum = those.reduce((total, { count = 1 }) => total + count, 0);
        return { minute, reason, records: those.length, denials: sum };
      });
    };
    const count = async (from: Instant, most: number) =>
      (await storage().ledger.denials({ from, most, mostAgents: 0 })).reasons.toSorted((one, other) =>
        String(one.reason).localeCompare(String(other.reason)),
      );
    const from = instantFromMicros(NOON + 1000);
    expect(await count(minute, 1000)).to.deep.equal(counted(denials));
    expect(await count(from, 1000)).to.deep.equal(counted(denials.filter(({ at }) => at >= from)));
    expect(await count(minute, 20)).to.deep.equal(counted(denials.slice(-20)));
  });

  it('counts the denials by agent, those with the most first, or those of the agents that are named', async () => {
    const denials = (await ledgerOf(storage())).filter(({ decision }) => decision === 'deny');
    const minute = instantFromMicros(NOON - (NOON % 60_000_000));
    const counted = (records: readonly LedgerRecord[], names: readonly (AgentId | undefined)[]) =>
      [...new Set(records.map(({ agentId }) => agentId))]
        .filter((agentId) => agentId !== undefined && (names.length === 0 || names.includes(agentId as AgentId)))
        .map((agentId) => {
          const those = records.filter((record) => record.agentId === agentId);
          return { agentId, denials: those.reduce((total, { count = 1 }) => total + count, 0) };
        })
        .sort((one, other) => other.denials - one.denials || (String(one.agentId) < String(other.agentId) ? -1 : 1));
    const count = async (most: number, mostAgents: number, agents?: readonly AgentId[]) =>
      (await storage().ledger.denials({ from: minute, most, mostAgents, agents })).agents;
    const all = counted(denials, []);
    expect(all.length).to.be.at.least(2);
    expect(await count(1000, 10)).to.deep.equal(all);
    expect(await count(1000, 1)).to.deep.equal(all.slice(0, 1));
    expect(await count(20, 10)).to.deep.equal(counted(denials.slice(-20), []));
    const last = all.at(-1)?.agentId as AgentId;
    expect(await count(1000, 10, [last, agentIdOf('not-there')])).to.deep.equal(counted(denials, [last]));
  });

  it('finds the sequence number after which the newest 20 records begin', async () => {
    const numbers = (await ledgerOf(storage())).map(({ seq }) => seq).sort((one, other) => one - other);
    expect(await storage().ledger.numberBefore(20)).to.equal(numbers.at(-21));
    expect(await storage().ledger.numberBefore(numbers.length)).to.equal(0);
  });
});

onEveryDatabase('paging while others write', ({ storage }) => {
  const seconds = (count: number): Instant => plusSeconds(NOON, count);

  it('neither skips nor repeats a record, although the clocks of writers differ and appends are out of order', async function () {
    this.timeout(60_000);
    const WRITERS = 8;
    const EACH = 60;
    const now = seconds(10);
    let writing = true;
    const write = async (writer: number) => {
      for (let nth = 0; nth < EACH; nth++) {
        // Appends in random order over a second, by writers whose clocks differ.
        const at = instantFromMicros(seconds(writer).valueOf() + ((nth * 7_919) % 1_000) * 1_000);
        await storage().ledger.append(anEntry('admin.denied', { at, detail: `${writer}/${nth}` }));
      }
    };
    const read = async () => {
      const seen: LedgerRecord[] = [];
      let after: LedgerPage['next'];
      for (;;) {
        const complete = !writing;
        const got = await storage().ledger.page({ limit: 7, now, after });
        // The last page may get more records later. It is read again.
        if (got.next !== undefined || complete) seen.push(...got.records);
        if (got.next === undefined && complete) return seen;
        after = got.next ?? after;
      }
    };
    const readers = [read(), read()];
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    writing = false;
    const all = await ledgerOf(storage());
    expect(all).to.have.length(WRITERS * EACH);
    for (const seen of await Promise.all(readers)) expect(seen).to.deep.equal(all);
  });

  it(`returns ${MANY} records of few milliseconds one by one, each once and in order, while others are appended`, async function () {
    this.timeout(400_000);
    const shared = (nth: number) => instantFromMicros(seconds(60).valueOf() + Math.floor(nth / 500) * 1000 + (nth % 3));
    const start = seconds(60);
    const entry = (nth: number) => anEntry('admin.denied', { at: shared(nth), detail: String(nth) });
    for (let nth = 0; nth < MANY - 200; nth += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, more) => storage().ledger.append(entry(nth + more))));
    }
    let written = MANY - 200;
    const writing = (async () => {
      for (; written < MANY; written += 1) await storage().ledger.append(entry(written));
    })();
    const seen: LedgerRecord[] = [];
    let after: LedgerPage['next'];
    for (;;) {
      const complete = written === MANY;
      const got = await storage().ledger.page({ limit: 1, now: MUCH_LATER, from: start, after });
      if (got.next !== undefined || complete) seen.push(...got.records);
      if (got.next === undefined && complete) break;
      after = got.next ?? after;
    }
    await writing;
    expect(seen).to.have.length(MANY);
    expect(new Set(seen.map(({ detail }) => detail)).size).to.equal(MANY);
    const sorted = seen.toSorted((one, other) => one.at - other.at || one.seq - other.seq);
    expect(seen).to.deep.equal(sorted);
  });
});
