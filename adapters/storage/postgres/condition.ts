/**
 * Opens a Postgres database for `mandate doctor`, as the serving role. It changes nothing: its writes are rolled back. Parts of
 * the condition have files of their names: guard-condition.ts, role-condition.ts, writing-condition.ts, link-condition.ts.
 */

import type { LogoutTimes } from '../../../application/decisions/fact.ts';
import { isLoggedOut, logoutQuestions } from '../../../application/decisions/logged-out.ts';
import type { Numbering, StorageCondition } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { monthOfPartition } from '../../../domain/ledger/archived-part.ts';
import { parseMonth } from '../../../domain/ledger/time-range.ts';
import { queriedCondition } from '../queries/condition.ts';
import { queryPorts } from '../queries/ports.ts';
import { MIGRATIONS_TABLE } from '../rows/migrations.ts';
import type { SchemaItem } from '../rows/schema-items.ts';
import { appendOnlyTables } from '../tables.ts';
import { postgresAsk, postgresChange } from './ask.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { hostsOf } from './connection-string.ts';
import { readDatabaseTime } from './database-time.ts';
import { orRefusal } from './errors.ts';
import { readFacts } from './facts.ts';
import { guardCondition } from './guard-condition.ts';
import { SERVING_LIMITS } from './limits.ts';
import { linkCondition } from './link-condition.ts';
import { readSchemaStatus } from './migrate.ts';
import { failoverCondition, openConnections, primaryOf, type Run, refuseSharedSessions } from './pool/pool.ts';
import { isBeyond, isSetBack } from './readiness.ts';
import { roleCondition } from './role-condition.ts';
import { postgresDifferences, schemaItemsQuery } from './schema-items.ts';
import { writingCondition } from './writing-condition.ts';

/** `mandate doctor` runs its checks concurrently. */
const POOL_SIZE = 4;

const version = { name: 'condition_version', text: "select current_setting('server_version') as version" };
const partitions = {
  name: 'condition_partitions',
  text: `select c.relname::text as name from pg_inherits join pg_class c on c.oid = inhrelid
    where inhparent = 'ledger'::regclass and not inhdetachpending order by c.relname`,
};

/** Of several hosts it examines the primary, and the first one if none is found; `server` then throws the reason. */
export async function openPostgresCondition(uri: string, log: Log): Promise<StorageCondition> {
  const primary = primaryOf(uri, 'serving');
  const connectionString = await primary.catch(() => hostsOf(uri)[0]);
  const connections = openConnections({ connectionString, poolSize: POOL_SIZE, limits: SERVING_LIMITS }, log);
  const { run } = connections;
  const ask = postgresAsk(connections);
  return {
    ...queryPorts(ask, postgresChange(connections)),
    ...queriedCondition(ask),
    async server() {
      await primary;
      await refuseSharedSessions(connectionString, 'serving');
      const { rows } = await orRefusal('serving', () => run<{ version: string }>(version));
      return `Postgres ${rows[0]?.version.split(' ')[0] ?? ''}`;
    },
    link: async () => linkCondition(uri),
    schema: () => readSchemaStatus(run),
    schemaDifferences: () => differencesIn(run),
    now: () => readDatabaseTime(run),
    role: () => roleCondition(run),
    guards: () => guardCondition(run),
    async months() {
      const { rows } = await run<{ name: string }>(partitions);
      return rows.flatMap(({ name }) => parseMonth(name.replace(/^ledger_/, '').replace('_', '-')) ?? []);
    },
    async numbering(): Promise<Numbering> {
      if ((await run<{ beyond: boolean }>(isBeyond)).rows[0]?.beyond === true) return 'beyond';
      const { rows } = await run<{ set_back: boolean | null }>(isSetBack);
      if (rows[0]?.set_back === true) return 'set_back';
      return 'ok';
    },
    writing: () => writingCondition(connections),
    failover: () => failoverCondition(run),
    async isLoggedOut(token, at) {
      const [answers] = await readFacts(run, [{ logouts: logoutQuestions(token) }]);
      return isLoggedOut(answers?.logouts as readonly (LogoutTimes | undefined)[], token.issuedAt, at);
    },
    checkpoints: postgresCheckpoints(connections),
    close: () => connections.close(),
  };
}

const schemaName = {
  name: 'condition_schema',
  text: `select nspname::text as name from pg_namespace n join pg_class c on c.relnamespace = n.oid
    where c.oid = '${MIGRATIONS_TABLE}'::regclass`,
};
const schemaItems = {
  name: 'condition_schema_items',
  text: schemaItemsQuery(`(select relnamespace from pg_catalog.pg_class where oid = '${MIGRATIONS_TABLE}'::regclass)`),
};

/** The tables that `foreign` looks at, beside the months. */
const WATCHED: readonly string[] = [...appendOnlyTables, 'tasks'];

/** Without what the guards compare. */
async function differencesIn(run: Run): Promise<readonly string[]> {
  const [schema] = (await run<{ name: string }>(schemaName)).rows;
  const { rows } = await run<SchemaItem>(schemaItems);
  const isWatched = (table: string) => WATCHED.includes(table) || monthOfPartition(table) !== undefined;
  return postgresDifferences(
    rows,
    schema?.name ?? '',
    ({ kind, of }) => !(['trigger', 'rule', 'policy'].includes(kind) && isWatched(of)),
  );
}
