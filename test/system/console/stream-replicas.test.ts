/**
 * The live stream through the death of a replica: two processes on one Postgres, the API's stream and the console's. One
 * process is killed while both write records, and its clients resume at the other one.
 */

import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { repetitions } from '../../contract/repetitions.ts';
import { type CommandProcess, startCommand } from '../../support/command-process.ts';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { type FreshDatabase, postgres } from '../../support/databases.ts';
import { type EventStream, openEventStream } from '../../support/event-stream.ts';
import { ADMIN_KEY, type LedgerLine } from '../../support/mandate.ts';
import { OPERATORS, operatorToken, ROLE_VALUES } from '../../support/operators.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const WRITERS_AT_EACH = 4;
/** How many records a client reads at the first replica before it dies, and how many more at the second one. */
const [READ_BEFORE, READ_AFTER] = [40, 80];

interface Replica {
  readonly url: string;
  readonly consoleUrl: string;
  readonly process: CommandProcess;
}

describe('The live stream of two processes on Postgres', function () {
  this.timeout(120_000);
  let fresh: FreshDatabase;
  /** Reads the ledger, and opens the operator's session. */
  let running: ConsoleService;
  let operator: OperatorAtConsole;
  before(async () => {
    fresh = await postgres.fresh();
    running = await startConsole({ ...postgres, fresh: async () => fresh }, sharedSigningKey());
    operator = await running.signedIn('auditor');
  });
  after(() => running.stop());

  async function startReplica(): Promise<Replica> {
    const [port, consolePort] = [String(await freePort()), String(await freePort())];
    const { provider, issuer } = running.mandate;
    const process = startCommand(['serve'], {
      ...OPERATORS,
      ...sharedSigningKey(),
      ...fresh.settings,
      HOST: '127.0.0.1',
      PORT: port,
      'Service:Issuer': issuer,
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      'Service:RateLimit:Enabled': 'false',
      'Service:Operators:ClientId': 'console',
      'Service:Console:Port': consolePort,
      'Service:Console:Origin': running.origin,
      NODE_ENV: 'development',
    });
    await process.said('listening');
    return { url: `http://127.0.0.1:${port}`, consoleUrl: `http://127.0.0.1:${consolePort}`, process };
  }

  const end = async ({ process }: Replica, signal: 'SIGKILL' | 'SIGTERM') => {
    process.child.kill(signal);
    await process.ended;
  };

  /** Blocks and unblocks people until `isOver`, or until the replica is dead. */
  async function write({ url }: Replica, writer: string, isOver: () => boolean): Promise<void> {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    for (let nth = 0; !isOver(); nth += 1) {
      const path = `${url}/admin/sponsors/${writer}-${nth >> 1}/block`;
      const answer = await fetch(path, { method: nth % 2 === 0 ? 'PUT' : 'DELETE', headers }).catch(() => undefined);
      if (answer === undefined) return;
      await answer.body?.cancel();
    }
  }

  const token = () => operatorToken(running.mandate, { roles: [ROLE_VALUES.auditor] });
  /** Opens the same stream at any replica. */
  const listeners = {
    'GET /audit/stream': ({ url }: Replica, after: number) =>
      openEventStream(`${url}/audit/stream`, { authorization: `Bearer ${token()}`, 'last-event-id': String(after) }),
    'the stream of the console': ({ consoleUrl }: Replica, after: number) =>
      openEventStream(`${consoleUrl}/stream`, { cookie: operator.cookie.join('='), 'last-event-id': String(after) }),
  };
  const numbers = ({ events }: EventStream) => events.map(({ id }) => Number(id));

  async function ledgerAfter(seq: number): Promise<readonly LedgerLine[]> {
    const lines = (await running.mandate.ledger()).filter((line) => line.seq > seq);
    return lines.toSorted((a, b) => a.seq - b.seq);
  }

  it('shows each record once and in order to clients that resume at the other process with Last-Event-ID', async () => {
    for (let round = 0; round < repetitions(1, 8); round += 1) {
      const [one, two] = await Promise.all([startReplica(), startReplica()]);
      const before = Math.max(0, ...(await running.mandate.ledger()).map(({ seq }) => seq));
      const clients = await Promise.all(
        Object.entries(listeners).map(async ([name, open]) => ({ name, open, first: await open(one, before) })),
      );
      for (const { name, first } of clients) expect(first.status, name).to.equal(200);
      let isOver = false;
      const writing = [one, two].flatMap((replica, at) =>
        Array.from({ length: WRITERS_AT_EACH }, (_, writer) =>
          write(replica, `p${round}-${at}-${writer}`, () => isOver),
        ),
      );

      await Promise.all(clients.map(({ first }) => first.until(READ_BEFORE)));
      await end(one, 'SIGKILL');
      expect(one.process.child.signalCode).to.equal('SIGKILL');
      const resumed = await Promise.all(
        clients.map(async ({ name, open, first }) => {
          await first.ended;
          const second = await open(two, numbers(first).at(-1) ?? before);
          await second.until(READ_AFTER);
          return { name, first, second };
        }),
      );
      isOver = true;
      await Promise.all(writing);
      const expected = await ledgerAfter(before);
      for (const { name, first, second } of resumed) {
        await second.until(expected.length - first.events.length);
        expect([...numbers(first), ...numbers(second)], name).to.deep.equal(expected.map(({ seq }) => seq));
        expect(
          [...first.events, ...second.events].map(({ data }) => data),
          name,
        ).to.deep.equal(expected);
        second.close();
      }
      await end(two, 'SIGTERM');
    }
  });
});
