/** A graceful stop while the console serves: running requests finish, and streams are ended. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { connectOutside, databasesByLength, type OutsideConnection } from '../../support/databases.ts';
import { openEventStream } from '../../support/event-stream.ts';
import { eventually } from '../../support/eventually.ts';
import { listen } from '../../support/listening.ts';
import { fieldsOf, type Mandate } from '../../support/mandate.ts';
import { scrape } from '../../support/metrics-scrape.ts';
import { formPost, rawConnection } from '../../support/raw-http.ts';

/** If a session was not used for this long, the next request renews it, which is a write. */
const UNUSED_SECONDS = 120;

for (const database of databasesByLength) {
  describe(`Stopping a service with the console on ${database.name}`, function () {
    this.timeout(60_000);
    let running: ConsoleService;
    let operator: OperatorAtConsole;
    let outside: OutsideConnection;
    let replica: Mandate;
    let ports: { readonly console: number; readonly metrics: number };
    before(async () => {
      const fresh = await database.fresh();
      running = await startConsole({ ...database, fresh: async () => fresh });
      outside = await connectOutside(fresh);
    });
    after(async () => {
      await outside.close();
      await running.stop();
    });
    beforeEach(async () => {
      operator = await running.signedIn('auditor', 'responder');
      ports = { console: await freePort(), metrics: await freePort() };
      replica = await running.mandate.another({
        'Service:Console:Port': String(ports.console),
        'Service:Metrics:Port': String(ports.metrics),
      });
    });

    const origin = () => `http://127.0.0.1:${ports.console}`;
    const headers = () => ({ accept: 'text/html', cookie: operator.cookie.join('='), 'sec-fetch-site': 'same-origin' });
    const open = (path: string) => fetch(`${origin()}${path}`, { headers: headers() });
    const busy = async () => (await scrape(ports.metrics)).value('mandate_admission_turns_busy', { work: 'revoking' });
    const lock = async () => {
      await outside.sql(database.engine === 'postgres' ? 'begin' : 'begin immediate');
      if (database.engine === 'postgres') await outside.sql('lock table sessions in exclusive mode');
    };

    it('answers a page under way', async () => {
      replica.clock.advance(UNUSED_SECONDS);
      await lock();
      const opened = open('/');
      await eventually(async () => (await busy()) === 1, 20);
      const stopping = replica.stop();
      await outside.sql('rollback');
      const page = await opened;
      expect(page.status).to.equal(200);
      expect(await page.text()).to.include('<h1>Now</h1>');
      await stopping;
    });

    it('carries out a form whose body is still arriving, and records who sent it', async () => {
      const { mandate } = running;
      const agent = await mandate.agent();
      const task = String((await agent.exchange()).body.task_id);
      const body = new URLSearchParams({
        form_token: operator.formToken,
        task_id: task,
        typed: agent.id,
        reason: 'The replica stops, and the task must too',
      }).toString();
      const [head = '', form = ''] = formPost('/stop/task', body).split('\r\n\r\n');
      const more = Object.entries({ ...headers(), expect: '100-continue' }).map(([name, value]) => `${name}: ${value}`);
      const connection = await rawConnection(origin());
      connection.send(`${[head, ...more].join('\r\n')}\r\n\r\n`);
      await connection.until('100 Continue');
      const records = await mandate.recorded(async () => {
        const stopping = replica.stop();
        connection.send(form);
        await connection.until('HTTP/1.1 303');
        expect(connection.received()).to.include('HTTP/1.1 303 See Other');
        await stopping;
      });
      expect(fieldsOf(records, 'event', 'reason', 'task_id')).to.deep.equal([
        ['task.revoked', 'operator_kill_switch', task],
        ['operator.acted', null, null],
      ]);
    });

    it('ends the live stream at once, before the page under way is answered', async () => {
      const stream = await openEventStream(`${origin()}/stream`, headers());
      await eventually(() => stream.comments.length > 0);
      replica.clock.advance(UNUSED_SECONDS);
      await lock();
      const opened = open('/');
      await eventually(async () => (await busy()) === 1, 20);
      const stopping = replica.stop();
      expect(await stream.ended).to.equal('ended');
      await outside.sql('rollback');
      expect((await opened).status).to.equal(200);
      await stopping;
    });

    it('refuses later requests with a page, records the refusal, closes idle connections and frees the port', async () => {
      const [idle, late] = [await rawConnection(origin()), await rawConnection(origin())];
      for (const connection of [idle, late]) {
        connection.send('GET /assets/none HTTP/1.1\r\nHost: mandate.test\r\n\r\n');
        expect(await connection.until('</html>'))
          .to.match(/^HTTP\/1\.1 404 /)
          .and.not.match(/connection: close/i);
      }
      replica.clock.advance(UNUSED_SECONDS);
      await lock();
      const opened = open('/');
      await eventually(async () => (await busy()) === 1, 20);
      const stopping = replica.stop();
      late.send('GET /ledger HTTP/1.1\r\nHost: mandate.test\r\nAccept: text/html\r\n\r\n');
      const refused = (await late.until('HTTP/1.1 503')).slice(late.received().lastIndexOf('HTTP/1.1'));
      expect(refused)
        .to.match(/\r\nconnection: close\r\n/i)
        .and.match(/\r\nretry-after: 1\r\n/i)
        .and.match(/\r\ncontent-type: text\/html/i);
      expect(idle.socket.closed).to.equal(false);
      await outside.sql('rollback');
      expect((await opened).status).to.equal(200);
      await stopping;
      if (!idle.socket.closed) await once(idle.socket, 'close');

      const next = createServer();
      expect(await listen(next, ports.console)).to.equal(ports.console);
      await new Promise((resolve) => next.close(resolve));
      const denials = (await running.mandate.ledger()).filter(({ event }) => event === 'admin.denied');
      expect(denials.map(({ reason }) => reason)).to.deep.equal(['overloaded']);
    });
  });
}
