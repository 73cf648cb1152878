/** A primary with a standby behind a proxy, and two replicas of the service that reach the database through it. */

import { expect } from 'chai';
import { capturedLog } from '../../../support/captured-log.ts';
import { runCommand } from '../../../support/command-process.ts';
import type { TestDatabase } from '../../../support/databases.ts';
import { type FailoverProxy, failoverProxy } from '../../../support/failover-proxy.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../../../support/mandate.ts';
import { movedClock } from '../../../support/moved-clock.ts';
import { openPostgres } from '../../../support/open-postgres.ts';
import { type PostgresPair, startPostgresPair } from '../../../support/postgres-pair.ts';
import { sharedSigningKey } from '../../../support/shared-signing-key.ts';
import { withMethods } from '../../../support/storage.ts';

const DATABASE = 'mandate';
export const SERVING = 'serving';

/** Two replicas of the service on a pair of servers. */
export interface ReplicasOnPair {
  readonly pair: PostgresPair;
  /** The first replica. */
  readonly mandate: Mandate;
  readonly replicas: readonly Mandate[];
  readonly agent: RegisteredAgent;
  /** Asks the database itself, on one of the servers. */
  ask(server: PostgresPair['primary'], text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Seals all records, and verifies the ledger with `mandate audit-verify`. @throws if one of them fails */
  sealAndVerify(): Promise<void>;
  stop(): Promise<void>;
}

export interface World extends ReplicasOnPair {
  readonly proxy: FailoverProxy;
}

interface WorldOptions {
  readonly synchronous?: 'off' | 'on' | 'remote_apply';
  readonly maxConnections?: number;
  readonly standbyOptions?: Readonly<Record<string, string>>;
  readonly primaryOptions?: Readonly<Record<string, string>>;
  readonly standbys?: 1 | 2;
}

export async function startWorld({ synchronous = 'on', ...options }: WorldOptions = {}): Promise<World> {
  const pair = await startPostgresPair(options);
  const proxy = await failoverProxy(pair.primary.server.port);
  const world = await startReplicas(pair, proxy.port, synchronous);
  return {
    ...world,
    proxy,
    async stop() {
      await world.stop();
      await proxy.close();
      await pair.stop();
    },
  };
}

/** @param port of the proxy in front of the servers */
export async function startReplicas(
  pair: PostgresPair,
  port: number,
  synchronous: NonNullable<WorldOptions['synchronous']>,
): Promise<ReplicasOnPair> {
  for (const text of [
    'create role owning login',
    `create role ${SERVING} login`,
    `create database ${DATABASE} owner owning`,
  ]) {
    await pair.sql(pair.primary, text);
  }
  const url = (role: string) => `postgresql://${role}@127.0.0.1:${port}/${DATABASE}`;
  const settings = {
    'Service:Database:Provider': 'postgres',
    'Service:Database:ConnectionString': url(SERVING),
    'Service:Database:MigrationConnectionString': url('owning'),
  };
  const open: Awaited<ReturnType<TestDatabase['fresh']>>['open'] = async (surroundings) =>
    withMethods(
      await openPostgres(
        { connectionString: url(SERVING), migrationConnectionString: url('owning') },
        { clock: movedClock(), log: capturedLog(), ...surroundings },
      ),
    );
  const storage = await open();
  await storage.migrate();
  await storage.close();
  await pair.synchronous(synchronous);
  const database: TestDatabase = {
    name: 'Postgres with a standby',
    engine: 'postgres',
    fresh: async () => ({ settings, open, outside: undefined, drop: async () => undefined }),
  };
  const signing = sharedSigningKey();
  const mandate = await startMandate({ database, settings: signing });
  const other = await mandate.another({}, undefined, { clock: mandate.clock });
  const agent = await mandate.agent();
  return {
    pair,
    mandate,
    replicas: [mandate, other],
    agent,
    ask: (server, text) => pair.sql(server, text, DATABASE),
    async sealAndVerify() {
      await mandate.jobs.seal();
      const { code, out, err } = await runCommand(['audit-verify'], { ...settings, ...signing });
      expect(code, `${out}${err}`).to.equal(0);
      expect(out).to.include('intact');
    },
    async stop() {
      await other.stop();
      await mandate.stop();
    },
  };
}
