/** The stream of records over HTTP, with short times. test/system/operator-reading.test.ts runs it in the service. */

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import express from 'express';
import { streamRecords } from '../../../../adapters/http/admin/audit-stream.ts';
import {
  type Holder,
  LISTENERS_OF_A_PERSON,
  MAX_LISTENERS,
  type RecordListener,
  recordStream,
} from '../../../../application/ledger/record-stream.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import type { LedgerRecord } from '../../../../domain/ledger/record.ts';
import type { Operator } from '../../../../domain/operators/operator.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { openEventStream } from '../../../support/event-stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { closeServer, listen } from '../../../support/listening.ts';

const record = (seq: number): LedgerRecord => ({
  seq,
  at: NOON,
  event: 'admin.denied',
  decision: 'deny',
  checkpoint: undefined,
});

describe('The stream of records', () => {
  let newest = 0;
  const streamOf = () =>
    recordStream({
      ledger: { settledThrough: async () => newest, numberBefore: async (records) => Math.max(0, newest - records) },
      checkpoints: {
        records: async ({ lastSeq }, after, limit) =>
          Array.from({ length: Math.min(limit, lastSeq - after) }, (_, nth) => record(after + 1 + nth)),
      },
      turn: async () => undefined,
      timeLimit: (work, ms) => Promise.race([work, pause(ms, undefined, { ref: false })]),
    });
  let stream = streamOf();
  let times = { heartbeatMs: 10_000, lifetimeMs: 60_000 };
  const app = express();
  let operator: Operator | undefined;
  app.get('/', (request, response) => {
    request.operator = operator;
    const surface = { stream, streamTimes: times, refuseFull: async () => undefined, clock: { now: () => NOON } };
    return streamRecords(surface, request, response);
  });
  const server = createServer(app);
  let url = '';
  before(async () => {
    url = `http://127.0.0.1:${await listen(server)}`;
  });
  beforeEach(() => {
    operator = undefined;
    stream = streamOf();
    newest = 0;
  });
  after(() => closeServer(server));

  it('sends a comment regularly, so that no proxy takes the connection for idle', async () => {
    times = { heartbeatMs: 5, lifetimeMs: 60_000 };
    const client = await openEventStream(url, {});
    await eventually(() => client.comments.length > 5);
    expect(client.events).to.deep.equal([]);
    client.close();
  });

  it('ends after its lifetime, so that the next connection checks the credential again', async () => {
    times = { heartbeatMs: 10_000, lifetimeMs: 20 };
    const client = await openEventStream(url, {});
    await client.ended;
    expect(client.headers.get('connection')).to.equal('close');
  });

  it("ends when the operator's access token expires, if that is earlier, and at once if it has expired", async () => {
    times = { heartbeatMs: 10_000, lifetimeMs: 60_000 };
    const person = { kind: 'person', issuer: 'https://idp.example', subject: 'ada', sponsorKey: 'ada' } as const;
    for (const seconds of [0.02, 0, -1]) {
      operator = { ...person, roles: ['auditor'], expiresAt: plusSeconds(NOON, seconds) };
      await (await openEventStream(url, {})).ended;
    }
    times = { heartbeatMs: 10_000, lifetimeMs: 20 };
    operator = { ...person, roles: ['auditor'], expiresAt: plusSeconds(NOON, 3600) };
    await (await openEventStream(url, {})).ended;
  });

  it('ends for all listeners when it is closed, and refuses later ones', async () => {
    times = { heartbeatMs: 10_000, lifetimeMs: 60_000 };
    const clients = await Promise.all([openEventStream(url, {}), openEventStream(url, {})]);
    const opening = stream.open(undefined, { surface: 'api', person: undefined });
    stream.close();
    await Promise.all(clients.map(({ ended }) => ended));
    expect(await opening).to.deep.equal({ kind: 'full' });
    expect((await fetch(url)).status).to.equal(503);
  });

  it('gives a listener that continues from an earlier number each record once, while others are handed over', async () => {
    newest = 3_000;
    times = { heartbeatMs: 10_000, lifetimeMs: 60_000 };
    const ahead = await openEventStream(url, {});
    let isOver = false;
    const advancing = (async () => {
      while (!isOver) {
        newest += 7;
        await stream.advance();
        await pause(1);
      }
    })();
    const behind = await Promise.all([0, 1, 2_999].map((id) => openEventStream(url, { 'last-event-id': String(id) })));
    for (const [nth, client] of behind.entries()) {
      const first = [1, 2, 3_000][nth] ?? 0;
      await client.until(3_500 - first);
      expect(client.events.map(({ id }) => Number(id))).to.deep.equal(client.events.map((_, at) => first + at));
    }
    isOver = true;
    await advancing;
    expect(ahead.events[0]?.id).to.equal('3001');
    for (const client of [ahead, ...behind]) client.close();
  });

  it('begins after the newest record, although older ones are not handed over yet', async () => {
    times = { heartbeatMs: 10_000, lifetimeMs: 60_000 };
    newest = 10;
    const early = await openEventStream(url, {});
    newest = 20;
    const late = await openEventStream(url, {});
    await stream.advance();
    newest = 21;
    await stream.advance();
    await Promise.all([early.until(11), late.until(1)]);
    expect([early.events[0]?.id, late.events.map(({ id }) => id)]).to.deep.equal(['11', ['21']]);
    for (const client of [early, late]) client.close();
  });

  it('ends only the oldest stream of a person when the sixth begins, and tells the reader why', async () => {
    times = { heartbeatMs: 10_000, lifetimeMs: 60_000 };
    const connect = async (subject: string | undefined) => {
      const person = { kind: 'person', issuer: 'https://idp.example', sponsorKey: undefined, roles: [] } as const;
      operator = subject === undefined ? { kind: 'key' } : { ...person, subject };
      return openEventStream(url, {});
    };
    const others = [await connect('grace'), await connect(undefined)];
    const own = [];
    for (let nth = 0; nth < LISTENERS_OF_A_PERSON + 2; nth++) own.push(await connect('ada'));
    const displaced = own.slice(0, 2);
    expect(await Promise.all(displaced.map(({ ended }) => ended))).to.deep.equal(['ended', 'ended']);
    expect(displaced.map(({ events }) => events.map(({ event }) => event))).to.deep.equal([
      ['displaced'],
      ['displaced'],
    ]);
    newest = 1;
    await stream.advance();
    const kept = [...others, ...own.slice(2)];
    await Promise.all(kept.map((client) => client.until(1)));
    expect(kept.flatMap(({ events }) => events.map(({ event }) => event))).to.deep.equal(kept.map(() => 'record'));
    for (const client of kept) client.close();
  });

  it('has separate slots for the console and the API; the admin key is refused at the limit', async () => {
    const leaving: AbortController[] = [];
    const feeding: Promise<void>[] = [];
    const open = async (holder: Holder) => {
      const opened = await stream.open(undefined, holder);
      if (opened.kind !== 'opened') return opened.kind;
      const gone = new AbortController();
      leaving.push(gone);
      const listener: RecordListener = {
        gone: gone.signal,
        take: () => undefined,
        drained: async () => undefined,
        displaced: () => gone.abort(),
      };
      feeding.push(opened.feed(listener));
      return opened.kind;
    };
    for (const [surface, most] of Object.entries(MAX_LISTENERS) as [Holder['surface'], number][]) {
      // Those of the admin key, then more of one person than may be: these take no further place.
      for (let nth = 0; nth < most - LISTENERS_OF_A_PERSON; nth++) await open({ surface, person: undefined });
      for (let nth = 0; nth < LISTENERS_OF_A_PERSON + 3; nth++) {
        expect(await open({ surface, person: `ada at ${surface}` }), surface).to.equal('opened');
      }
      for (const person of ['grace', undefined]) expect(await open({ surface, person }), surface).to.equal('full');
    }
    for (const gone of leaving) gone.abort();
    await Promise.all(feeding);
    expect(await open({ surface: 'api', person: 'grace' })).to.equal('opened');
  });

  it('reads the ledger once for all listeners, and not at all without one', async () => {
    let reads = 0;
    const counted = recordStream({
      ledger: { settledThrough: async () => newest, numberBefore: async (records) => Math.max(0, newest - records) },
      checkpoints: {
        records: async ({ lastSeq }, after) => {
          reads += 1;
          return lastSeq > after ? [record(lastSeq)] : [];
        },
      },
      turn: async () => undefined,
      timeLimit: async (work) => work,
    });
    await counted.advance();
    expect(reads).to.equal(0);
    const gone = new AbortController();
    const taken: number[] = [];
    const listener = (): RecordListener => ({
      gone: gone.signal,
      drained: async () => undefined,
      displaced: () => undefined,
      take: (records) => void taken.push(...records.map(({ seq }) => seq)),
    });
    const feeding: Promise<void>[] = [];
    for (let nth = 0; nth < 10; nth++) {
      const opened = await counted.open(undefined, { surface: 'api', person: undefined });
      if (opened.kind !== 'opened') throw new Error('there is a place');
      feeding.push(opened.feed(listener()));
    }
    newest = 1;
    await counted.advance();
    expect(taken).to.deep.equal(Array.from({ length: 10 }, () => 1));
    expect(reads).to.equal(1);
    gone.abort();
    await Promise.all(feeding);
  });
});
