/** The environment of a fault run: a database, replicas of the service, and the load generator. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scimSettings } from '../../test/support/scim-client.ts';
import { sharedSigningKey } from '../../test/support/shared-signing-key.ts';
import { type Cleanup, withCleanup } from '../cleanup.ts';
import { freePort } from '../free-port.ts';
import { asVariables } from '../mandate-process.ts';
import { createDatabase, type Engine, type TemporaryPostgres } from '../temporary-database.ts';
import { type Reconciled, reconcile } from './checks/reconcile.ts';
import { type Driver, type Rate, startDriver } from './load/driver.ts';
import { openSession } from './load/session.ts';
import { type Service, serviceProcess } from './service.ts';

export interface TestbedOptions {
  readonly engine: Engine;
  /** Node's arguments that run `mandate`. */
  readonly program: readonly string[];
  readonly seed: number;
  readonly replicas?: number;
  /** How many requests of the load are under way at a time. */
  readonly concurrency?: number;
  readonly pauseMs?: number;
  readonly rate?: Rate;
}

export interface Testbed {
  readonly services: readonly [Service, ...Service[]];
  readonly postgres: TemporaryPostgres | undefined;
  readonly driver: Driver;
  /** Migrates the database, starts every service, and starts the load. */
  start(): Promise<void>;
  /** Stops the load, and compares every response with the ledger. All services must be ready. */
  finish(): Promise<Reconciled>;
}

/** The result of a fault run: the comparisons, and figures to print. */
export interface RunResult extends Reconciled {
  readonly figures: readonly string[];
}

const ISSUER = 'https://mandate.test';
export const ADMIN_KEY = 'an-admin-key-of-a-fault-run-0123456789abcdef';
const CONCURRENCY = 8;

/** Runs the work, then stops all processes and removes all files. */
export function withTestbed<Result>(
  { engine, program, seed, replicas = 1, concurrency = CONCURRENCY, pauseMs = 0, rate }: TestbedOptions,
  run: (testbed: Testbed) => Promise<Result>,
): Promise<Result> {
  return withCleanup(async (cleanup) => {
    const driver = await startDriver();
    cleanup(driver.end);
    const bed = await makeReplicas({ engine, program, replicas, issuer: ISSUER, settings: driver.settings, cleanup });
    const { folder, services, postgres } = bed;
    const [first] = services;
    const urls = services.map(({ url }) => url);
    return run({
      services,
      postgres,
      driver,
      async start() {
        await bed.start();
        const file = join(folder, 'operations.jsonl');
        await driver.load({ urls, issuer: ISSUER, adminKey: ADMIN_KEY, seed, concurrency, pauseMs, rate, file });
      },
      async finish() {
        const operations = await driver.finish();
        const session = openSession(urls);
        try {
          const verify = () => first.run('audit-verify');
          return await reconcile({ operations, agents: driver.agents, session, adminKey: ADMIN_KEY, verify });
        } finally {
          session.close();
        }
      },
    });
  });
}

interface ReplicasToMake {
  readonly engine: Engine;
  readonly program: readonly string[];
  readonly replicas: number;
  readonly issuer: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly cleanup: Cleanup;
}

interface Replicas extends Pick<Testbed, 'services' | 'postgres'> {
  /** Temporary. */
  readonly folder: string;
  /** Migrates the database, and starts every service. */
  start(): Promise<void>;
}

/** Replicas on a new database, not yet started. */
export async function makeReplicas(wanted: ReplicasToMake): Promise<Replicas> {
  const { engine, program, replicas, issuer, settings, cleanup } = wanted;
  const folder = mkdtempSync(join(tmpdir(), 'mandate-faults-'));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  const database = await createDatabase(engine, { folder, cleanup });
  const environment = environmentOf(issuer, { ...database.settings, ...settings });
  const create = async (nth: number) =>
    serviceProcess({ program, environment, port: await freePort(), logFile: join(folder, `replica-${nth}.log`) });
  const first = await create(0);
  const services: [Service, ...Service[]] = [first];
  while (services.length < replicas) services.push(await create(services.length));
  cleanup(() => Promise.all(services.map((service) => service.end('SIGKILL'))));
  return {
    folder,
    services,
    postgres: database.postgres,
    async start() {
      const code = await first.run('migrate');
      if (code !== 0) throw new Error(`migrate ended with ${code}: ${readFileSync(join(folder, 'replica-0.log'))}`);
      for (const service of services) service.start();
      await Promise.all(services.map((service) => service.untilReady()));
    },
  };
}

function environmentOf(issuer: string, settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const all = {
    ...sharedSigningKey(),
    ...scimSettings,
    'Service:Issuer': issuer,
    'Service:Admin:ApiKey': ADMIN_KEY,
    // Frequent, so that faults also hit sealing and sweeping.
    'Service:Audit:Checkpoint:Interval': 'PT2S',
    'Service:Tasks:SweepInterval': 'PT2S',
    // All load comes from one address, which a rate limit would refuse.
    'Service:RateLimit:Enabled': 'false',
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    ...settings,
  };
  return asVariables(all);
}
