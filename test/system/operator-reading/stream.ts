/** The stream of records for operators. */

import { expect } from 'chai';
import { MAX_LISTENERS } from '../../../application/ledger/record-stream.ts';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { startCommand } from '../../support/command-process.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { appendsEntries, connectOutside } from '../../support/databases.ts';
import { type EventStream, openEventStream } from '../../support/event-stream.ts';
import { eventually } from '../../support/eventually.ts';
import { byLength } from '../../support/length.ts';
import { ADMIN_KEY, type Mandate } from '../../support/mandate.ts';
import { OPERATORS, operatorToken, ROLE_VALUES } from '../../support/operators.ts';
import { rawConnection } from '../../support/raw-http.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import type { ReadService } from './service.ts';
import { errorsOf } from './service.ts';

const KEY = { authorization: `Bearer ${ADMIN_KEY}` };

/** Appends many records of 400 bytes in one transaction. */
const burstOn = {
  postgres: (records: number) =>
    appendsEntries(`(select json_agg(json_build_object('at', now(), 'event', 'admin.denied', 'detail', repeat('x', 400)))
      from generate_series(1, ${records}))`),
  sqlite: (records: number) => `insert into ledger (ts, event, decision, detail)
    with recursive n (n) as (select 1 union all select n + 1 from n where n < ${records})
    select (select max(ts) from ledger), 'admin.denied', 'deny', printf('%.400c', 'x') from n`,
};

export function testStream(service: ReadService, database: TestDatabase): void {
  const listen = (at: Pick<Mandate, 'url'>, headers: Readonly<Record<string, string>> = {}) =>
    openEventStream(`${at.url}/audit/stream`, { ...KEY, ...headers });

  const numbers = ({ events }: EventStream) => events.map(({ id }) => Number(id));

  const tokenOf = (role: OperatorRole) => operatorToken(service.mandate, { roles: [ROLE_VALUES[role]] });

  /** Writes this many records, each in a separate transaction. */
  const write = async (records: number, at = service.mandate) => {
    for (let nth = 0; nth < records; nth++) await at.admin('PUT', `/admin/sponsors/writer-${Math.random()}/block`);
  };

  /** Read outside of the service: over several pages `GET /audit` waits for an append that is under way. */
  const newest = async () => {
    const { fresh } = service;
    const outside = await connectOutside(fresh);
    const [row] = await outside.sql('select max(seq) as seq from ledger');
    await outside.close();
    return Number(row?.seq);
  };

  it('streams each new record as `GET /audit` shows it, in the order of numbers, to an auditor', async () => {
    const { mandate } = service;
    const before = await newest();
    const stream = await listen(mandate, { authorization: `Bearer ${tokenOf('auditor')}` });
    expect([stream.status, stream.headers.get('content-type'), stream.headers.get('cache-control')]).to.deep.equal([
      ...[200, 'text/event-stream; charset=utf-8', 'no-store'],
    ]);
    await write(3);
    const written = (await mandate.ledger())
      .filter(({ seq }) => seq > before)
      .toSorted((one, two) => one.seq - two.seq);
    await stream.until(written.length);
    expect(stream.events).to.deep.equal(written.map((data) => ({ id: String(data.seq), event: 'record', data })));
    stream.close();
  });

  it('ends the stream with the access token: a minute after its expiry, as elsewhere', async () => {
    const { mandate } = service;
    // Half a second to two seconds before that minute is over.
    const token = operatorToken(mandate, { roles: [ROLE_VALUES.auditor], exp: mandate.clock.seconds() - 58 });
    await (await listen(mandate, { authorization: `Bearer ${token}` })).ended;
  });

  it('refuses the stream to a viewer, and records that', async () => {
    const { mandate } = service;
    const records = await mandate.recorded(async () => {
      expect((await mandate.get('/audit/stream', { authorization: `Bearer ${tokenOf('viewer')}` })).status).to.equal(
        403,
      );
    });
    expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([
      ['admin.denied', 'operator_role_missing'],
    ]);
  });

  it('resumes after the Last-Event-ID, and refuses one that no event of this ledger has', async () => {
    const { mandate } = service;
    const before = await newest();
    await write(5);
    const expected = (await mandate.ledger()).map(({ seq }) => seq).filter((seq) => seq > before);
    for (const missing of [0, 2, expected.length]) {
      const after = missing === 0 ? before : (expected[missing - 1] ?? 0);
      const stream = await listen(mandate, { 'last-event-id': String(after) });
      await stream.until(expected.length - missing);
      expect(numbers(stream)).to.deep.equal(expected.slice(missing));
      stream.close();
    }
    for (const id of [String((await newest()) + 1), '-1', '1.5', 'x', '']) {
      const answer = await mandate.get('/audit/stream', { ...KEY, 'last-event-id': id });
      expect([answer.status, Object.keys(answer.body.errors as object)], id).to.deep.equal([400, ['Last-Event-ID']]);
    }
    expect(await errorsOf(mandate, '/audit/stream?after=1')).to.deep.equal(['after']);
    expect((await mandate.send('/audit/stream', { method: 'HEAD', headers: KEY })).status).to.equal(200);
  });

  const replica = async () => {
    const { mandate } = service;
    const { url, stop } = await mandate.another({});
    const end = async () => {
      const began = performance.now();
      await stop();
      // A stop waits ten seconds for requests that do not end.
      expect(performance.now() - began).to.be.below(9_000);
    };
    return { url, end };
  };

  const replicaProcess = async () => {
    const { fresh, mandate } = service;
    const PORT = String(await freePort());
    const { provider } = mandate;
    const { child, ended, said } = startCommand(['serve'], {
      ...OPERATORS,
      ...sharedSigningKey(),
      ...fresh.settings,
      HOST: '127.0.0.1',
      PORT,
      'Service:Issuer': 'https://mandate.test',
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      NODE_ENV: 'development',
    });
    await said('listening');
    const end = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    return { url: `http://127.0.0.1:${PORT}`, end };
  };

  // In `npm test`, test/adapters/http/console/auditor-browser.test.ts kills a process that has listeners of this stream.
  const replicas = byLength({ short: { stops: replica }, full: { stops: replica, 'is killed': replicaProcess } });

  for (const [how, startOne] of Object.entries(replicas)) {
    it(`loses and repeats no record when a replica ${how}, and the listener resumes at another one`, async () => {
      const { mandate } = service;
      const [one, two] = [await startOne(), await mandate.another({})];
      const before = await newest();
      let isWriting = true;
      const writing = (async () => {
        while (isWriting) await Promise.all([write(1), write(1), two.agent()]);
      })();
      const seen: number[] = [];
      const first = await listen(one, { 'last-event-id': String(before) });
      await first.until(20);
      await one.end();
      await first.ended;
      seen.push(...numbers(first));
      const second = await listen(two, { 'last-event-id': String(seen.at(-1)) });
      await second.until(40);
      isWriting = false;
      await writing;
      const expected = (await mandate.ledger())
        .map(({ seq }) => seq)
        .filter((seq) => seq > before)
        .toSorted((a, b) => a - b);
      await second.until(expected.length - seen.length);
      expect([...seen, ...numbers(second)]).to.deep.equal(expected);
      second.close();
      await two.stop();
    });
  }

  if (database.engine === 'postgres') {
    it('waits for a record with a lower number that commits later', async () => {
      const { fresh, mandate } = service;
      const outside = await fresh.outside?.('owner');
      const stream = await listen(mandate);
      await outside?.sql('begin');
      await outside?.sql(
        appendsEntries(`json_build_array(json_build_object('at', now(), 'event', 'admin.denied', 'detail', 'late'))`),
      );
      await write(3);
      const visible = await newest();
      const watching = await fresh.outside?.('superuser');
      const waits = `select from pg_stat_activity where query like '%virtualtransaction%' and application_name = 'mandate'`;
      await eventually(async () => (await watching?.sql(waits))?.length !== 0, 20);
      await watching?.close();
      expect(stream.events).to.deep.equal([]);
      await outside?.sql('commit');
      await outside?.close();
      await stream.until(4);
      expect(stream.events[0]?.data.detail).to.equal('late');
      expect(numbers(stream)).to.deep.equal(numbers(stream).toSorted((a, b) => a - b));
      expect(numbers(stream).at(-1)).to.equal(visible);
      stream.close();
    });
  }

  it(`refuses listener ${MAX_LISTENERS.api + 1} with 503, records that, and accepts one when another has left`, async () => {
    const { mandate } = service;
    const instance = await mandate.another({ 'Service:Overload:ConcurrencyLimit': '1' });
    const streams = await Promise.all(Array.from({ length: MAX_LISTENERS.api }, () => listen(instance)));
    expect(new Set(streams.map(({ status }) => status))).to.deep.equal(new Set([200]));
    // The listeners hold no permit, or the limit of one would refuse every other request.
    expect((await instance.admin('GET', '/audit?limit=1')).status).to.equal(200);
    const before = await newest();
    const refused = await instance.get('/audit/stream', KEY);
    expect([refused.status, refused.headers.get('retry-after'), refused.body.error]).to.deep.equal([
      503,
      '1',
      'temporarily_unavailable',
    ]);
    const records = (await mandate.ledger()).filter(({ seq }) => seq > before);
    expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['admin.denied', 'overloaded']]);
    await write(1);
    await Promise.all(streams.map((stream) => eventually(() => stream.events.length > 0)));
    streams[0]?.close();
    await eventually(async () => {
      const stream = await listen(instance);
      stream.close();
      return stream.status === 200;
    }, 50);
    await instance.stop();
    await Promise.all(streams.map(({ ended }) => ended));
  });

  it('drops a listener that never reads once its buffer is over 1 MiB, and keeps those that read', async () => {
    const { mandate } = service;
    const before = await newest();
    const many = 10_000;
    const burst = () => mandate.sql(database.engine === 'postgres' ? burstOn.postgres(many) : burstOn.sqlite(many));
    await burst();
    const reading = await listen(mandate, { 'last-event-id': String(before) });
    const deaf = await rawConnection(mandate.url);
    deaf.socket.pause();
    deaf.send(`GET /audit/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n\r\n`);
    await reading.until(many);
    const logged = () => mandate.log.lines.filter((line) => JSON.stringify(line).includes('/audit/stream')).length;
    const closed = logged();
    for (let round = 0; logged() === closed; round++) {
      expect(round, 'bursts that the listener did not read').to.be.below(30);
      await burst();
      await reading.until(many * (round + 2));
    }
    expect(numbers(reading)).to.deep.equal(Array.from({ length: reading.events.length }, (_, nth) => before + 1 + nth));
    reading.close();
    deaf.leave();
  });
}
