/** Too many requests, too many at once, and a database that is away: pages that operators understand, and their records. */

import { expect } from 'chai';
import { PAGE_HEADERS } from '../../../adapters/http/browser/page-headers.ts';
import { freePort } from '../../../scripts/free-port.ts';
import {
  type ConsoleAnswer,
  type ConsoleService,
  type OperatorAtConsole,
  startConsole,
} from '../../support/console/console-service.ts';
import {
  connectOutside,
  databasesByLength,
  type FreshDatabase,
  type OutsideConnection,
  type TestDatabase,
} from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { fieldsOf, type Mandate, sendTo } from '../../support/mandate.ts';
import { scrape } from '../../support/metrics-scrape.ts';
import { type TcpProxy, tcpProxy } from '../../support/tcp-proxy.ts';

/** The clock stands still, so a bucket grants this many requests in all. */
const GRANTED = 2;
const SCARCE = {
  'Service:RateLimit:Enabled': 'true',
  'Service:RateLimit:PermitsPerMinute': '60',
  'Service:RateLimit:Burst': String(GRANTED),
};
const ONE_PERMIT = { 'Service:Overload:ConcurrencyLimit': '1', 'Service:Overload:QueueLimit': '0' };

/** If a session was not used for this long, the next request renews it, which is a write. */
const UNUSED_SECONDS = 120;

const form = { reason: 'A form in times of trouble', sponsor_key: 'grace', typed: 'grace' };

for (const database of databasesByLength) {
  describe(`The console in trouble on ${database.name}`, function () {
    this.timeout(60_000);
    let running: ConsoleService;
    let operator: OperatorAtConsole;
    let outside: OutsideConnection;
    let away: Away;
    before(async () => {
      const fresh = await database.fresh();
      away = await databaseThatGoesAway(database, fresh);
      running = await startConsole({ ...database, fresh: async () => ({ ...fresh, settings: away.settings }) });
      outside = await connectOutside(fresh);
    });
    beforeEach(async () => {
      operator = await running.signedIn('auditor', 'responder');
    });
    after(async () => {
      await outside.close();
      await running.stop();
      await away.close();
    });

    /** Runs `act` with another instance, and resolves with the records that it adds. */
    async function beside(
      settings: Readonly<Record<string, string>>,
      act: (instance: Mandate, origin: string) => Promise<void>,
    ) {
      const port = await freePort();
      const instance = await running.mandate.another({ ...settings, 'Service:Console:Port': String(port) });
      return running.mandate.recorded(async () => {
        await act(instance, `http://127.0.0.1:${port}`);
        // A stop records the refusals that were only counted.
        await instance.stop();
      });
    }

    const headers = (changes: Readonly<Record<string, string>> = {}) => ({
      accept: 'text/html',
      cookie: operator.cookie.join('='),
      'sec-fetch-site': 'same-origin',
      ...changes,
    });
    const post = (origin: string) =>
      sendTo(`${origin}/people/block`, {
        method: 'POST',
        headers: headers(),
        body: new URLSearchParams({ form_token: operator.formToken, ...form }),
      });

    /** A page with the headers of every page, which says what to do. */
    function expectPage(
      { status, headers, text }: ConsoleAnswer,
      expected: { readonly status: number; readonly retryAfter: string; readonly says: readonly string[] },
    ) {
      expect([status, headers.get('retry-after'), headers.get('cache-control')], text).to.deep.equal([
        ...[expected.status, expected.retryAfter],
        'no-store',
      ]);
      expect(headers.get('content-type')).to.equal(PAGE_HEADERS['Content-Type']);
      expect(headers.get('content-security-policy')).to.equal(PAGE_HEADERS['Content-Security-Policy']);
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      for (const sentence of expected.says) expect(text).to.include(sentence);
      expect(text).to.match(/<a class="button main" href="\/[^"]*">Try again<\/a>/);
    }
    const isBlocked = async () => (await running.mandate.admin('GET', '/admin/sponsors/grace')).status !== 404;

    const TOO_MANY = {
      status: 429,
      retryAfter: '1',
      says: ['Too many requests', 'Wait a few seconds, then open the page again. Nothing was changed.'],
    };
    const AT_CAPACITY = {
      status: 503,
      retryAfter: '1',
      says: ['The service is at its limit', 'Wait a few seconds, then open the page again. Nothing was changed.'],
    };
    const NO_DATABASE = {
      status: 503,
      retryAfter: '5',
      says: ['The database does not answer', 'Nothing is known about your last change: look before you repeat it.'],
    };

    it('answers 429 with a page, does nothing, and records rate_limited without a name', async () => {
      const records = await beside(SCARCE, async (instance, origin) => {
        instance.clock.standStill();
        const open = (changes = {}) => sendTo(`${origin}/`, { headers: headers(changes) });
        for (let granted = 0; granted < GRANTED; granted += 1) expect((await open()).status).to.equal(200);
        expectPage(await open(), TOO_MANY);
        expectPage(await post(origin), TOO_MANY);
        const program = await open({ accept: 'application/json' });
        expect([program.status, program.headers.get('cache-control')]).to.deep.equal([429, 'no-store']);
        expect(program.body).to.include({ error: 'slow_down', status: 429 });
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'detail', 'count')).to.deep.equal([
        ['admin.denied', 'deny', 'rate_limited', undefined, undefined],
        ['admin.denied', 'deny', 'rate_limited', undefined, 2],
      ]);
      expect(await isBlocked()).to.equal(false);
    });

    it('counts requests at the console separately: a flood on the public port does not lock operators out', async () => {
      await beside(SCARCE, async (instance, origin) => {
        instance.clock.standStill();
        for (let sent = 0; sent < GRANTED; sent += 1) await instance.get('/no-such-path');
        expect((await instance.get('/no-such-path')).status).to.equal(429);
        expect((await sendTo(`${origin}/`, { headers: headers() })).status).to.equal(200);
      });
    });

    it('answers 503 with a page while no permit is free, does nothing, and records overloaded without a name', async () => {
      const metrics = await freePort();
      const settings = { ...ONE_PERMIT, 'Service:Metrics:Port': String(metrics) };
      const records = await beside(settings, async (instance, origin) => {
        instance.clock.advance(UNUSED_SECONDS);
        await outside.sql(database.engine === 'postgres' ? 'begin' : 'begin immediate');
        if (database.engine === 'postgres') await outside.sql('lock table sessions in exclusive mode');
        // It waits for the lock, and holds the only permit.
        const first = sendTo(`${origin}/`, { headers: headers() });
        const busy = async () => (await scrape(metrics)).value('mandate_admission_turns_busy', { work: 'revoking' });
        await eventually(async () => (await busy()) === 1, 20);
        expectPage(await sendTo(`${origin}/people`, { headers: headers() }), AT_CAPACITY);
        expectPage(await post(origin), AT_CAPACITY);
        await outside.sql('rollback');
        expect((await first).status).to.equal(200);
      });
      const denials = fieldsOf(records, 'event', 'decision', 'reason', 'detail');
      for (const each of denials) expect(each).to.deep.equal(['admin.denied', 'deny', 'overloaded', undefined]);
      expect(denials.length).to.be.greaterThan(0);
      expect(await isBlocked()).to.equal(false);
    });

    it('answers 503 with a page while the database is away, and works again once it is back, with nothing done', async () => {
      // The next use of the session is a write, which SQLite refuses while another connection writes.
      running.mandate.clock.advance(UNUSED_SECONDS);
      const records = await running.mandate.recorded(async () => {
        await away.go();
        expectPage(await operator.open('/'), NO_DATABASE);
        expectPage(await operator.open('/ledger'), NO_DATABASE);
        expectPage(await operator.submit('/people/block', form), NO_DATABASE);
        await away.return();
        await eventually(async () => (await operator.open('/')).status === 200, 50);
      });
      expect(records).to.deep.equal([]);
      expect(await isBlocked()).to.equal(false);
    });
  });
}

interface Away {
  readonly settings: FreshDatabase['settings'];
  go(): Promise<void>;
  return(): Promise<void>;
  close(): Promise<void>;
}

/** A Postgres that nothing reaches, or a SQLite file that another connection holds. */
async function databaseThatGoesAway({ engine }: TestDatabase, fresh: FreshDatabase): Promise<Away> {
  if (engine === 'sqlite') {
    const holder = await connectOutside(fresh);
    return {
      settings: fresh.settings,
      go: async () => void (await holder.sql('begin immediate')),
      return: async () => void (await holder.sql('rollback')),
      close: () => holder.close(),
    };
  }
  const uri = new URL(fresh.settings['Service:Database:ConnectionString'] ?? '');
  const proxy: TcpProxy = await tcpProxy(Number(uri.port));
  uri.port = String(proxy.port);
  return {
    settings: { ...fresh.settings, 'Service:Database:ConnectionString': uri.href },
    go: async () => proxy.silence(),
    return: async () => proxy.resume(),
    close: () => proxy.close(),
  };
}
