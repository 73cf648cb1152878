/** What operators read with `Service:Operators`: tasks and blocks in pages, more filters of the ledger, its stream. */

import { expect } from 'chai';
import { MAX_LISTENERS } from '../../application/ledger/record-stream.ts';
import type { OperatorRole } from '../../domain/operators/operator.ts';
import { freePort } from '../../scripts/free-port.ts';
import { startCommand } from '../support/command-process.ts';
import { appendsEntries, connectOutside, databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { type EventStream, openEventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, JIRA, type Mandate, type RegisteredAgent, startMandate, WIKI } from '../support/mandate.ts';
import { OPERATORS, operatorToken, ROLE_VALUES } from '../support/operators.ts';
import { rawConnection } from '../support/raw-http.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

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

type Item = Readonly<Record<string, unknown>>;

async function errorsOf(mandate: Mandate, path: string): Promise<readonly string[]> {
  const { status, body } = await mandate.admin('GET', path);
  expect(status, path).to.equal(400);
  return Object.keys(body.errors as object);
}

/** All items of a list, in pages of this size. */
async function itemsOf(mandate: Mandate, path: string, name: string, limit: number): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor: unknown = null;
  do {
    const { status, body } = await mandate.admin(
      'GET',
      `${path}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    expect(status, path).to.equal(200);
    items.push(...(body[name] as Item[]));
    cursor = body.next_cursor;
  } while (cursor !== null);
  return items;
}

for (const database of databasesByLength) {
  describe(`Reading by operators on ${database.name}`, function () {
    this.timeout(60_000);
    let fresh: FreshDatabase;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let other: RegisteredAgent;
    before(async () => {
      fresh = await database.fresh();
      mandate = await startMandate({
        database: { ...database, fresh: async () => fresh },
        settings: { ...OPERATORS, ...sharedSigningKey() },
      });
      await mandate.untilReady();
      agent = await mandate.agent({ display_name: 'Triage' });
      other = await mandate.agent();
    });
    after(() => mandate.stop());

    const start = async (by: RegisteredAgent, sub: string, resource = JIRA) => {
      const { status, body } = await by.exchangeFor({ sub }, { resource });
      expect(status).to.equal(200);
      return String(body.task_id);
    };
    const tasksOf = async (query: string, limit = 100) =>
      (await itemsOf(mandate, `/admin/tasks?${query}`, 'tasks', limit)).map(({ task_id }) => task_id);

    it('lists live tasks newest first, selects by each filter, and shows one task with the numbers of its records', async () => {
      const [first, second] = [await start(agent, 'ada'), await start(other, 'ada', WIKI)];
      const [third, ended] = [await start(agent, 'bob'), await start(agent, 'ada')];
      await mandate.admin('DELETE', `/admin/tasks/${ended}`);
      for (const limit of [1, 2, 100]) expect(await tasksOf('', limit)).to.deep.equal([third, second, first]);
      expect(await tasksOf('sponsor=ada')).to.deep.equal([second, first]);
      expect(await tasksOf(`agent_id=${agent.id}`)).to.deep.equal([third, first]);
      expect(await tasksOf(`audience=${encodeURIComponent(WIKI)}`)).to.deep.equal([second]);
      expect(await tasksOf(`sponsor=ada&agent_id=${agent.id}&state=revoked`)).to.deep.equal([ended]);
      expect(await tasksOf('state=expired')).to.deep.equal([]);

      const records = (await mandate.ledger()).filter(({ task_id }) => task_id === ended);
      const { status, body } = await mandate.admin('GET', `/admin/tasks/${ended}`);
      const { started_at, expires_at, ended_at, ...task } = body;
      expect(status).to.equal(200);
      expect(task).to.deep.equal({
        task_id: ended,
        agent_id: agent.id,
        display_name: 'Triage',
        sponsor: 'ada',
        sponsor_key: 'ada',
        audience: JIRA,
        scope: 'jira:read jira:comment',
        delegation_depth: 1,
        parent_task_id: null,
        state: 'revoked',
        reason: 'operator_kill_switch',
        renewals: 0,
        records: records.map(({ seq }) => seq),
        next_cursor: null,
      });
      for (const at of [started_at, expires_at, ended_at]) expect(at).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(records.map(({ event }) => event)).to.deep.equal(['token.issued', 'task.revoked']);

      mandate.clock.advance(3 * 3600);
      expect(await tasksOf('')).to.deep.equal([]);
      expect(await tasksOf('state=expired', 2)).to.deep.equal([third, second, first]);
      const [, expired] = await itemsOf(mandate, '/admin/tasks?state=expired', 'tasks', 100);
      expect(expired).to.include({ state: 'expired', reason: 'task_ttl_elapsed' });
      expect(expired?.ended_at).to.equal(expired?.expires_at);
    });

    it('answers 404 for a task that is not stored', async () => {
      for (const id of ['task_01M31S7W68TMK7WDX8YKPSYTES', 'nothing']) {
        const answer = await mandate.admin('GET', `/admin/tasks/${id}`);
        expect([answer.status, answer.body.detail]).to.deep.equal([404, 'There is no such task.']);
      }
    });

    it('lists blocks newest first, and selects by source', async () => {
      for (const key of ['grace', 'hedy', 'idä']) {
        await mandate.admin('PUT', `/admin/sponsors/${encodeURIComponent(key)}/block`);
        mandate.clock.advance(1);
      }
      for (const query of ['', 'source=admin']) {
        for (const limit of [1, 2, 100]) {
          const blocks = await itemsOf(mandate, `/admin/sponsors?${query}`, 'sponsors', limit);
          expect(blocks.map(({ sponsor_key }) => sponsor_key)).to.deep.equal(['idä', 'hedy', 'grace']);
          expect(blocks[0])
            .to.include({ source: 'admin', kind: 'disabled' })
            .and.have.keys('sponsor_key', 'source', 'kind', 'blocked_at');
        }
      }
      expect(await itemsOf(mandate, '/admin/sponsors?source=scim', 'sponsors', 100)).to.deep.equal([]);
    });

    it('refuses a cursor of another query, and unknown or repeated parameters, with the name of the field', async () => {
      const cursorOf = async (path: string) => String((await mandate.admin('GET', path)).body.next_cursor);
      for (let nth = 0; nth < 2; nth++) await start(agent, 'ada');
      const ofTasks = await cursorOf('/admin/tasks?limit=1');
      const ofBlocks = await cursorOf('/admin/sponsors?limit=1');
      const ofRecords = await cursorOf('/audit?limit=1');
      for (const cursor of [ofTasks, ofBlocks, ofRecords]) expect(cursor).to.match(/^[\w-]+$/);
      const foreign = [ofBlocks, ofRecords, 'AAAA', '', `${ofTasks}A`, 'no cursor'].map(
        (one) => `/admin/tasks?cursor=${encodeURIComponent(one)}`,
      );
      const changed = ['state=revoked', 'sponsor=ada', `agent_id=${agent.id}`, 'audience=x'].map(
        (one) => `/admin/tasks?cursor=${ofTasks}&${one}`,
      );
      const blocks = [ofTasks, ofRecords, `${ofBlocks}&source=admin`].map((one) => `/admin/sponsors?cursor=${one}`);
      for (const path of [...foreign, ...changed, ...blocks, `/audit?cursor=${ofTasks}`]) {
        expect(await errorsOf(mandate, path), path).to.deep.equal(['cursor']);
      }
      expect(await errorsOf(mandate, '/audit?event=token.issued&cursor=x&audience=')).to.have.members([
        'cursor',
        'audience',
      ]);
      expect((await mandate.admin('GET', `/admin/tasks?cursor=${ofTasks}&limit=7`)).status).to.equal(200);
      for (const field of [
        'state=Live',
        'state=',
        'agent_id=A',
        'sponsor=a%20b',
        'audience=%00',
        'limit=0',
        'limit=1001',
        'seq=1',
      ]) {
        expect(await errorsOf(mandate, `/admin/tasks?${field}`)).to.deep.equal([field.split('=')[0]]);
      }
      expect(await errorsOf(mandate, '/admin/tasks?state=live&state=live')).to.deep.equal(['state']);
      for (const field of ['source=nobody', 'source=', 'state=live', 'limit=x']) {
        expect(await errorsOf(mandate, `/admin/sponsors?${field}`)).to.deep.equal([field.split('=')[0]]);
      }
    });

    it('selects records by event and audience, alone, together and with other filters', async () => {
      const all = await mandate.ledger();
      const wiki = encodeURIComponent(WIKI);
      const queries: readonly (readonly [string, (line: Item) => boolean])[] = [
        ['event=token.issued', ({ event }) => event === 'token.issued'],
        [`audience=${wiki}`, ({ audience }) => audience === WIKI],
        [`event=token.issued&audience=${wiki}`, ({ event, audience }) => event === 'token.issued' && audience === WIKI],
        ['event=sponsor.blocked&decision=allow', ({ event }) => event === 'sponsor.blocked'],
        ['event=token.issued&sponsor=bob', ({ event, sponsor }) => event === 'token.issued' && sponsor === 'bob'],
      ];
      for (const [query, isMeant] of queries) {
        const expected = all.filter(isMeant);
        expect(expected, query).not.to.have.length(0);
        for (const limit of [1, 1000]) {
          expect(await itemsOf(mandate, `/audit?${query}`, 'records', limit), query).to.deep.equal(expected);
        }
      }
      for (const event of ['token.ISSUED', 'nothing', '']) {
        expect(await errorsOf(mandate, `/audit?event=${event}`)).to.deep.equal(['event']);
      }
    });

    const listen = (at: Pick<Mandate, 'url'>, headers: Readonly<Record<string, string>> = {}) =>
      openEventStream(`${at.url}/audit/stream`, { ...KEY, ...headers });
    const numbers = ({ events }: EventStream) => events.map(({ id }) => Number(id));
    const tokenOf = (role: OperatorRole) => operatorToken(mandate, { roles: [ROLE_VALUES[role]] });
    /** Writes so many records, each in its own transaction. */
    const write = async (records: number, at = mandate) => {
      for (let nth = 0; nth < records; nth++) await at.admin('PUT', `/admin/sponsors/writer-${Math.random()}/block`);
    };
    /** Read outside of the service: over several pages `GET /audit` waits for an append that is under way. */
    const newest = async () => {
      const outside = await connectOutside(fresh);
      const [row] = await outside.sql('select max(seq) as seq from ledger');
      await outside.close();
      return Number(row?.seq);
    };

    it('streams each new record as `GET /audit` shows it, in the order of numbers, to an auditor', async () => {
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
      // Half a second to two seconds before that minute is over.
      const token = operatorToken(mandate, { roles: [ROLE_VALUES.auditor], exp: mandate.clock.seconds() - 58 });
      await (await listen(mandate, { authorization: `Bearer ${token}` })).ended;
    });

    it('refuses the stream to a viewer, and records that', async () => {
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
    const replicas = { stops: replica, 'is killed': replicaProcess };
    for (const [how, startOne] of Object.entries(replicas)) {
      it(`loses and repeats no record when a replica ${how}, and the listener resumes at another one`, async () => {
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
      const before = await newest();
      const many = 30_000;
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
        expect(round, 'bursts that the listener did not read').to.be.below(10);
        await burst();
        await reading.until(many * (round + 2));
      }
      expect(numbers(reading)).to.deep.equal(
        Array.from({ length: reading.events.length }, (_, nth) => before + 1 + nth),
      );
      reading.close();
      deaf.leave();
    });
  });

  describe(`Without operators on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await startMandate({ database });
    });
    after(() => mandate.stop());

    it('the key ends everything, and the list of tasks is unknown', async () => {
      const agent = await mandate.agent();
      const issued = [await agent.exchange(), await agent.exchangeFor({ sub: 'grace' })];
      const records = await mandate.recorded(async () => {
        const answer = await mandate.admin('DELETE', '/admin/tasks');
        expect([answer.status, answer.body]).to.deep.equal([200, { revoked_tasks: 2 }]);
      });
      expect(records.map(({ event, task_id, reason }) => [event, task_id, reason])).to.have.deep.members(
        issued.map(({ body }) => ['task.revoked', body.task_id, 'operator_kill_switch']),
      );
      for (const filter of ['?sponsor=grace', '?limit=1']) {
        const answer = await mandate.admin('DELETE', `/admin/tasks${filter}`);
        expect([answer.status, Object.values(answer.body.errors as object)]).to.deep.equal([
          400,
          [['Is not a parameter here.']],
        ]);
      }
      expect((await mandate.admin('POST', '/admin/tasks')).status).to.equal(404);
    });

    it('no path and no filter of theirs exists', async () => {
      for (const path of ['/admin/tasks', '/admin/sponsors', '/audit/stream']) {
        const answer = await mandate.admin('GET', path);
        expect([answer.status, answer.body.detail], path).to.deep.equal([404, 'There is nothing at this path.']);
      }
      const task = await mandate.admin('GET', '/admin/tasks/task_01M31S7W68TMK7WDX8YKPSYTES');
      expect([task.status, task.headers.get('allow')]).to.deep.equal([405, 'DELETE']);
      const { body } = await mandate.admin('GET', '/audit?event=token.issued&audience=x');
      const sentence = ['Is not a parameter here.'];
      expect(body.errors).to.deep.equal({ event: sentence, audience: sentence });
    });
  });
}
