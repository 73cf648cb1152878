/** A primary with a standby behind a proxy, and two replicas of the service that reach the database through it. */

import { openPostgres } from '../../../../adapters/storage/postgres/open.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import type { TestDatabase } from '../../../support/databases.ts';
import { type FailoverProxy, failoverProxy } from '../../../support/failover-proxy.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../../../support/mandate.ts';
import { movedClock } from '../../../support/moved-clock.ts';
import { type PostgresPair, startPostgresPair } from '../../../support/postgres-pair.ts';
import { sharedSigningKey } from '../../../support/shared-signing-key.ts';
import { withMethods } from '../../../support/storage.ts';

const DATABASE = 'mandate';
export const SERVING = 'serving';

export interface World {
  readonly pair: PostgresPair;
  readonly proxy: FailoverProxy;
  /** The first replica. */
  readonly mandate: Mandate;
  readonly replicas: readonly Mandate[];
  readonly agent: RegisteredAgent;
  /** Asks the database itself, on one of the servers. */
  ask(server: PostgresPair['primary'], text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<void>;
}

interface WorldOptions {
  readonly synchronous?: 'off' | 'on' | 'remote_apply';
  readonly maxConnections?: number;
  readonly standbyOptions?: Readonly<Record<string, string>>;
}

export async function startWorld({ synchronous = 'on', ...options }: WorldOptions = {}): Promise<World> {
  const pair = await startPostgresPair(options);
  const proxy = await failoverProxy(pair.primary.server.port);
  for (const text of [
    'create role owning login',
    `create role ${SERVING} login`,
    `create database ${DATABASE} owner owning`,
  ]) {
    await pair.sql(pair.primary, text);
  }
  const url = (role: string) => `postgresql://${role}@127.0.0.1:${proxy.port}/${DATABASE}`;
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
  const mandate = await startMandate({ database, settings: sharedSigningKey() });
  const other = await mandate.another({}, undefined, { clock: mandate.clock });
  const agent = await mandate.agent();
  return {
    ...{ pair, proxy, mandate, replicas: [mandate, other], agent },
    ask: (server, text) => pair.sql(server, text, DATABASE),
    async stop() {
      await other.stop();
      await mandate.stop();
      await proxy.close();
      await pair.stop();
    },
  };
}
