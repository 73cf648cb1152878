/** Many clients that are slow on purpose. They hold no permit, no database connection and no transaction. */

import { expect } from 'chai';
import { databases } from '../../support/databases.ts';
import { byLength } from '../../support/length.ts';
import { ADMIN_KEY, type LedgerLine, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { type RawConnection, rawConnection } from '../../support/raw-http.ts';

const EACH = byLength({ short: 8, full: 45 });
/** Few permits: one slow client of each kind could use all of them. */
const SETTINGS = { 'Service:Overload:ConcurrencyLimit': '2', 'Service:Overload:QueueLimit': '4' };
/** A busy machine delays a request by less than this. A request that waits for a slow client takes longer. */
const SLACK_MS = 250;

const HOST = 'Host: mandate.test\r\n';
const FORM = `${HOST}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n`;
const JSON_CHUNKS = `${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const SLOW: readonly (readonly [first: string, rest: string, takes?: 'takes nothing'])[] = [
  ['POST /oauth2/token HTTP/1.1\r\n', 'X'],
  [`POST /oauth2/token HTTP/1.1\r\n${FORM}`, 'x'],
  [`POST /oauth2/revoke HTTP/1.1\r\n${FORM}`, 'x'],
  [`POST /oauth2/introspect HTTP/1.1\r\n${FORM}`, 'x'],
  [`POST /admin/agents HTTP/1.1\r\n${JSON_CHUNKS}`, '1\r\nx\r\n'],
  [`POST /nothing-here HTTP/1.1\r\n${JSON_CHUNKS}`, '1\r\nx\r\n'],
  [`GET /.well-known/jwks.json HTTP/1.1\r\n${HOST}\r\n`.repeat(10), '\r\n', 'takes nothing'],
];

/** Runs on Postgres only, because SQLite has no connection pool. */
for (const database of databases.filter(({ engine }) => engine === 'postgres')) {
  describe(`Slow clients on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database, settings: SETTINGS });
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    /** Sends one request at a time, so it never waits for a permit. @returns ascending milliseconds */
    async function normalLoad(count: number): Promise<readonly number[]> {
      const took: number[] = [];
      for (let sent = 0; sent < count; sent += 1) {
        const form = agent.exchangeForm();
        const began = performance.now();
        const issued = await mandate.post('/oauth2/token', form);
        took.push(performance.now() - began);
        expect(issued.status).to.equal(200);
        const token = String(issued.body.access_token);
        expect((await mandate.post('/oauth2/introspect', { token })).body.active).to.equal(true);
        if (sent % 10 === 0) expect((await agent.revoke(token)).status).to.equal(200);
        if (sent % 10 === 5) expect((await mandate.admin('GET', `/admin/agents/${agent.id}`)).status).to.equal(200);
      }
      return took.sort((a, b) => a - b);
    }
    /**
     * The server first answers the first requests of the slow clients, and new connections wait. After ten successes in
     * a row it has accepted all slow clients.
     */
    async function untilAllAreIn(): Promise<void> {
      for (let served = 0; served < 10; ) {
        const connection = await rawConnection(mandate.url);
        connection.send(`GET /audit?limit=1 HTTP/1.1\r\n${HOST}Authorization: Bearer ${ADMIN_KEY}\r\n\r\n`);
        const answer = await connection.until('\r\n\r\n');
        connection.leave();
        served = answer.startsWith('HTTP/1.1 200') ? served + 1 : 0;
      }
    }
    const most = (times: readonly number[]) => times[Math.floor(times.length * 0.9)] ?? Number.NaN;

    it(`with ${EACH} each of slow heads, forms, bodies and readers leave all permits to other clients`, async function () {
      this.timeout(120_000);
      // Retries, because a busy machine may exceed the time limit.
      this.retries(2);
      await normalLoad(10);
      const alone = most(await normalLoad(40));

      const slow: Promise<RawConnection>[] = [];
      const timers: NodeJS.Timeout[] = [];
      for (const [first, rest, takes] of SLOW) {
        for (let count = 0; count < EACH; count += 1) {
          slow.push(
            rawConnection(mandate.url).then((connection) => {
              if (takes === 'takes nothing') connection.socket.pause();
              connection.send(first);
              timers.push(setInterval(() => connection.send(rest), 500));
              return connection;
            }),
          );
        }
      }
      let beside = Number.NaN;
      let lines: readonly LedgerLine[] = [];
      try {
        await Promise.all(slow);
        await untilAllAreIn();
        lines = await mandate.recorded(async () => {
          beside = most(await normalLoad(40));
        });
      } finally {
        for (const timer of timers) clearInterval(timer);
        for (const connection of await Promise.all(slow)) connection.leave();
      }
      expect(beside).to.be.below(2 * alone + SLACK_MS);
      // Only the first requests of the slow clients are denied: the slowly sent bytes never complete a request.
      const reasons = lines.flatMap(({ decision, reason }) => (decision === 'deny' ? [reason] : []));
      expect(['missing_api_key', 'overloaded']).to.include.members(reasons);
    });
  });
}
