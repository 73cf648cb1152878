/** Where a run takes place: a database, replicas of the service, load on them, and the reconciliation afterwards. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { variableOf } from '../../../composition/startup-error.ts';
import { scimSettings } from '../../../test/support/scim-client.ts';
import { sharedSigningKey } from '../../../test/support/shared-signing-key.ts';
import { freePort } from '../../free-port.ts';
import type { Pace } from '../load/orders.ts';
import { openSession } from '../load/session.ts';
import { type Driver, startDriver } from '../load/start-driver.ts';
import { type Reconciled, reconcile } from '../reconciliation/reconcile.ts';
import { type Engine, openDatabase, type StageDatabase } from './database.ts';
import { runCommand, type Server, serverProcess } from './server.ts';

export interface StageOptions {
  readonly engine: Engine;
  readonly program: readonly string[];
  readonly seed: number;
  readonly replicas?: number;
  /** Of the load. */
  readonly concurrency?: number;
  readonly pauseMs?: number;
  readonly pace?: Pace;
}

export interface Stage {
  readonly servers: readonly Server[];
  readonly database: StageDatabase;
  readonly driver: Driver;
  readonly issuer: string;
  readonly adminKey: string;
  readonly folder: string;
  /** Every server is started, ready, and under load. */
  begin(): Promise<void>;
  /** Ends the load; everything has to be ready by then. Holds every answer against the ledger. */
  end(): Promise<Reconciled>;
  close(): Promise<void>;
}

const ISSUER = 'https://mandate.test';
const ADMIN_KEY = 'an-admin-key-of-a-fault-run-0123456789abcdef';
const CONCURRENCY = 8;

export async function openStage(options: StageOptions): Promise<Stage> {
  const { engine, program, seed, replicas = 1 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'mandate-faults-'));
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const database = await openDatabase(engine, folder);
    undo.push(database.stop);
    const driver = await startDriver();
    undo.push(driver.end);
    const environment = environmentOf({ ...database.settings, ...driver.settings });
    const servers: Server[] = [];
    for (let nth = 0; nth < replicas; nth++) {
      const logFile = join(folder, `replica-${nth}.log`);
      servers.push(serverProcess({ program, environment, port: await freePort(), logFile }));
    }
    undo.push(() => Promise.all(servers.map((server) => server.end('SIGKILL'))));
    const [first] = servers;
    if (first === undefined) throw new Error('a stage needs a replica');
    const urls = servers.map(({ url }) => url);
    const file = join(folder, 'answers.jsonl');
    const orders = { urls, issuer: ISSUER, adminKey: ADMIN_KEY, seed, file };
    return {
      ...{ servers, database, driver, folder, close, issuer: ISSUER, adminKey: ADMIN_KEY },
      async begin() {
        mkdirSync(folder, { recursive: true });
        const code = await runCommand(first.options, ['migrate']);
        if (code !== 0) throw new Error(`migrate ended with ${code}: ${readFileSync(first.options.logFile, 'utf8')}`);
        for (const server of servers) server.start();
        await Promise.all(servers.map((server) => server.untilReady()));
        const { concurrency = CONCURRENCY, pauseMs = 0, pace } = options;
        await driver.load({ ...orders, concurrency, pauseMs, pace });
      },
      async end() {
        const kept = await driver.finish();
        const session = openSession(urls);
        try {
          const verify = () => runCommand(first.options, ['audit-verify']);
          return await reconcile({ kept, agents: driver.agents, session, adminKey: ADMIN_KEY, verify });
        } finally {
          session.close();
        }
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function environmentOf(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const settings = {
    ...sharedSigningKey(),
    ...scimSettings,
    'Service:Issuer': ISSUER,
    'Service:Admin:ApiKey': ADMIN_KEY,
    // Often, so that a fault finds them at work.
    'Service:Audit:Checkpoint:Interval': 'PT2S',
    'Service:Tasks:SweepInterval': 'PT2S',
    // All load comes from one address.
    ...('Service:RateLimit:Enabled' in catalogue ? { 'Service:RateLimit:Enabled': 'false' } : {}),
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    ...given,
  };
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), value]));
}
