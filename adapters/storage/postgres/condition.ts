/**
 * Opens a Postgres database for `mandate doctor`, as the serving role. It changes nothing: its writes are rolled back.
 */

import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { LogoutTimes } from '../../../application/decisions/fact.ts';
import { isLoggedOut, logoutQuestions } from '../../../application/decisions/logged-out.ts';
import { type DatabaseFault, StorageUnavailable } from '../../../application/ports/decisions.ts';
import type {
  DatabaseLink,
  GuardCondition,
  LockHolder,
  MissingGuard,
  Numbering,
  RoleCondition,
  SealingCondition,
  StorageCondition,
  WritingCondition,
} from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { isLoopback } from '../../../domain/address.ts';
import { parseMonth } from '../../../domain/ledger/time-range.ts';
import { listAgents } from '../queries/agents.ts';
import { outboxBacklog, sealingBacklog } from '../queries/backlog.ts';
import { besideLedger } from '../queries/beside-ledger.ts';
import { listArchivings, listCheckpointKeys, listExports } from '../queries/checkpoints.ts';
import { logoutEndedNothing } from '../queries/ledger.ts';
import { listProblems, logState } from '../queries/log.ts';
import { findBlocks } from '../queries/sponsors.ts';
import { statusListUsage } from '../queries/status-lists.ts';
import { SELECT_USED_TWICE } from '../rows/ledger-row.ts';
import { evenlySpaced, IS_FOREIGN, MIGRATIONS_TABLE } from '../rows/migrations.ts';
import type { SchemaItem } from '../rows/schema-items.ts';
import { postgresAsk } from './ask.ts';
import { hostsOf } from './connection-string.ts';
import { type Connections, openConnections, type Run } from './connections.ts';
import { pageDamage } from './damaged-pages.ts';
import { readDatabaseTime } from './database-time.ts';
import { orRefusal } from './errors.ts';
import { readFacts } from './facts.ts';
import { primaryOf } from './find-primary.ts';
import { SERVING_LIMITS } from './limits.ts';
import { functionBodies, readSchemaStatus } from './migrate.ts';
import { isBeyond, isSetBack } from './readiness.ts';
import { postgresDifferences, schemaItemsQuery } from './schema-items.ts';
import { type CreatorsRow, closingStatement, creators, ourFunctions, TABLE_PRIVILEGES } from './serving-role.ts';
import { refuseSharedSessions } from './shared-sessions.ts';
import { awaitingStandby, lockHolders } from './waits.ts';

/** `mandate doctor` runs its checks concurrently. */
const POOL_SIZE = 4;

const version = { name: 'condition_version', text: "select current_setting('server_version') as version" };
const partitions = {
  name: 'condition_partitions',
  text: `select c.relname::text as name from pg_inherits join pg_class c on c.oid = inhrelid
    where inhparent = 'ledger'::regclass and not inhdetachpending order by c.relname`,
};
const usedTwice = { name: 'condition_used_twice', text: SELECT_USED_TWICE };

/** Of several hosts it examines the primary, and the first one if none is found; `server` then throws the reason. */
export async function openPostgresCondition(uri: string, log: Log): Promise<StorageCondition> {
  const primary = primaryOf(uri, 'serving');
  const connectionString = await primary.catch(() => hostsOf(uri)[0]);
  const connections = openConnections({ connectionString, poolSize: POOL_SIZE, limits: SERVING_LIMITS }, log);
  const { run } = connections;
  const ask = postgresAsk(connections);
  return {
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
      const [twice] = (await run<{ seq: number }>(usedTwice)).rows;
      return twice === undefined ? 'ok' : { usedTwice: twice.seq };
    },
    writing: () => writingCondition(connections),
    async sealing(): Promise<SealingCondition> {
      const backlog = await sealingBacklog(ask);
      return { ...backlog, signers: await ask(listCheckpointKeys, undefined) };
    },
    archives: async () => ({
      listed: await ask(listExports, undefined),
      records: await ask(listArchivings, undefined),
    }),
    outbox: () => ask(outboxBacklog, undefined),
    log: () => ask(logState, undefined),
    witnessProblems: () => ask(listProblems, undefined),
    statusLists: () => ask(statusListUsage, undefined),
    findBlocks: (sponsorKey) => ask(findBlocks, sponsorKey),
    listAgents: (page) => ask(listAgents, page),
    async isLoggedOut(token, at) {
      const [answers] = await readFacts(run, [{ logouts: logoutQuestions(token) }]);
      return isLoggedOut(answers?.logouts as readonly (LogoutTimes | undefined)[], token.issuedAt, at);
    },
    logoutEndedNothing: (since) => ask(logoutEndedNothing, since),
    besideLedger: (question) => besideLedger(ask, question),
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

/** The tables that `foreign` looks at. */
const WATCHED: readonly string[] = ['ledger', 'ledger_archives', 'checkpoints', 'tasks'];

/** Without what the guards compare. */
async function differencesIn(run: Run): Promise<readonly string[]> {
  const [schema] = (await run<{ name: string }>(schemaName)).rows;
  const { rows } = await run<SchemaItem>(schemaItems);
  return postgresDifferences(
    rows,
    schema?.name ?? '',
    ({ kind, of }) => kind !== 'function' && !(['trigger', 'rule', 'policy'].includes(kind) && WATCHED.includes(of)),
  );
}

/**
 * Lists the guards that keep the ledger from being changed (`schema.sql`), on its tables and every partition. A trigger
 * counts if it is enabled, unconditional, for all columns, and runs `refuse_ledger_change` before the change. Its name
 * does not matter. The bits of `tgtype`: row 1, before 2, insert 4, delete 8, update 16, truncate 32.
 */
const guards = {
  name: 'condition_guards',
  text: `
    with partitions as (
      select inhrelid as oid from pg_inherits where inhparent = 'ledger'::regclass
    ), guarded as (
      select oid, relname::text as name, relacl, relowner, oid = 'ledger'::regclass or oid in (table partitions) as by_row
        from pg_class
        where oid in ('ledger'::regclass, 'ledger_archives'::regclass, 'checkpoints'::regclass) or oid in (table partitions)
    ), active as (
      select tgrelid, tgtype from pg_trigger
        where tgfoid = (select f.oid from ${ourFunctions('ledger')} where f.proname = 'refuse_ledger_change' and f.pronargs = 0)
          and tgenabled in ('O', 'A') and tgqual is null and tgattr = ''
    )
    select name,
        exists (select from active where tgrelid = oid and tgtype & 59 = 58) as by_statement,
        not by_row or exists (select from active where tgrelid = oid and tgtype & 27 = 27) as by_row,
        array(
          select distinct lower(acl.privilege_type) || ' granted to '
              || case acl.grantee when 0 then 'everybody' else acl.grantee::regrole::text end
            from aclexplode(coalesce(relacl, acldefault('r', relowner))) acl
            where acl.privilege_type in ('UPDATE', 'DELETE', 'TRUNCATE')
        ) as granted
      from guarded order by name`,
};

/** What no migration makes on the ledger's tables or `tasks`: it could change what is written, or hide what was. */
const foreign = {
  name: 'condition_foreign',
  text: `
    with ours as (
      select oid, relname::text as name, relkind, relrowsecurity or relforcerowsecurity as hides from pg_class
        where oid in ('ledger'::regclass, 'ledger_archives'::regclass, 'checkpoints'::regclass, 'tasks'::regclass)
          or oid in (select inhrelid from pg_inherits where inhparent = 'ledger'::regclass)
    )
    select name, 'row-level security' as what from ours where hides
    union all select name, 'the policy ' || polname from ours join pg_policy on polrelid = ours.oid
    union all select name, 'the rule ' || rulename from ours join pg_rewrite on ev_class = ours.oid
    union all select name, 'a relation of the kind ' || relkind::text from ours where relkind not in ('r', 'p')
    union all
    select name, 'the child table ' || inhrelid::regclass::text from ours join pg_inherits on inhparent = ours.oid
      where ours.oid <> 'ledger'::regclass
    union all
    select name, 'the trigger ' || tgname from ours join pg_trigger on tgrelid = ours.oid
      where not tgisinternal and (name = 'tasks'
        or tgfoid <> all (select f.oid from ${ourFunctions('ledger')} where f.proname = 'refuse_ledger_change' and f.pronargs = 0))
    order by 1, 2`,
};

/** Mandate's functions. With another language, a body of ours could do something else. */
const bodies = {
  name: 'condition_function_bodies',
  text: `select f.proname::text as name, case when lanname in ('plpgsql', 'sql') then f.prosrc end as body,
      nspname::text as schema
    from ${ourFunctions('ledger')} join pg_language on pg_language.oid = f.prolang
      join pg_namespace on pg_namespace.oid = f.pronamespace
    order by 1`,
};

/** Whether triggers fire in this session. */
const firing = {
  name: 'condition_firing',
  text: "select current_setting('session_replication_role') as fires",
};

/** Functions that run as their owner, and could call those of another role in the schema (`schema.sql`). */
const unpinned = {
  name: 'condition_search_paths',
  text: `select f.proname::text as name from ${ourFunctions('ledger')}
    where f.prosecdef and not coalesce('search_path=pg_catalog, pg_temp' = any (f.proconfig), false) order by 1`,
};

interface GuardRow {
  readonly name: string;
  readonly by_statement: boolean;
  readonly by_row: boolean;
  readonly granted: readonly string[];
}

interface FunctionRow {
  readonly name: string;
  readonly body: string | null;
  readonly schema: string;
}

const REFUSING = 'refuse_ledger_change';
const IS_CHANGED = 'is not as the migrations make it';

/**
 * The functions whose whole body differs from that of the migrations. A newer release may have changed all of them but
 * the one that refuses.
 */
async function changedFunctions(run: Run): Promise<readonly string[]> {
  const { rows } = await run<FunctionRow>(bodies);
  const made = functionBodies(rows[0]?.schema ?? '');
  const isCurrent = (await readSchemaStatus(run)) === 'current';
  return [...made].flatMap(([name, body]) => {
    const found = rows.filter((row) => row.name === name);
    const isSame = found.length > 0 && found.every((row) => evenlySpaced(row.body ?? '') === evenlySpaced(body));
    return isSame || !(isCurrent || name === REFUSING) ? [] : [name];
  });
}

async function guardCondition(run: Run): Promise<GuardCondition> {
  const { rows } = await run<GuardRow>(guards);
  const [state] = (await run<{ fires: string }>(firing)).rows;
  const changed = await changedFunctions(run);
  const open = (await run<{ name: string }>(unpinned)).rows;
  const others = (await run<{ name: string; what: string }>(foreign)).rows;
  return {
    tables: rows.length,
    missing: [
      ...changed.map((name) => ({
        table: 'ledger',
        what: `${name} ${name === REFUSING ? 'does not refuse' : IS_CHANGED}`,
      })),
      ...(state?.fires === 'origin'
        ? []
        : [{ table: 'ledger', what: 'session_replication_role keeps triggers from firing' }]),
      ...open.map(({ name }) => ({ table: 'ledger', what: `${name} finds functions of other roles` })),
      ...rows.flatMap(missingFrom),
      ...others.map(({ name, what }) => ({ table: name, what: `${what} ${IS_FOREIGN}` })),
    ],
  };
}

function missingFrom({ name, by_statement, by_row, granted }: GuardRow): readonly MissingGuard[] {
  return [
    ...(by_statement ? [] : ['no trigger refuses statements']),
    ...(by_row ? [] : ['no trigger refuses changes of rows']),
    ...granted,
  ].map((what) => ({ table: name, what }));
}

const who = {
  name: 'condition_role',
  text: `select current_user as role, rolsuper as is_superuser, pg_has_role(relowner, 'member') as is_owner
    from pg_roles, pg_class where rolname = current_user and pg_class.oid = 'ledger'::regclass`,
};

/** Where the serving role gets the privilege to create objects in the ledger's schema from. */
const creating = {
  name: 'condition_creators',
  text: `with l as (select relowner, relnamespace from pg_class where oid = 'ledger'::regclass)
    ${creators('current_user', '(select relowner from l)', '(select relnamespace from l)')}`,
};

/**
 * The serving role's privileges on the tables and sequences in the ledger's schema that belong to the ledger's owner. A
 * privilege on a column is listed only if the role lacks it on the whole table.
 */
const held = {
  name: 'condition_privileges',
  text: `
    with ours as (
      select c.oid, c.relname::text as name, c.relkind from pg_class c join pg_class l on l.oid = 'ledger'::regclass
        where c.relnamespace = l.relnamespace and c.relowner = l.relowner and c.relkind in ('r', 'p', 'S')
    ), of_tables as (
      select ours.oid, name, lower(p) as privilege from ours,
          unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p
        where relkind <> 'S' and has_table_privilege(ours.oid, p)
    )
    select privilege || ' on ' || name as held from of_tables
    union all
    select lower(p) || ' (' || attname || ') on ' || name from ours
      join pg_attribute on attrelid = ours.oid and attnum > 0 and not attisdropped,
        unnest(array['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p
      where relkind <> 'S' and has_column_privilege(ours.oid, attnum, p)
        and not exists (select from of_tables t where t.oid = ours.oid and t.privilege = lower(p))
    union all
    select lower(p) || ' on ' || name from ours, unnest(array['SELECT', 'UPDATE', 'USAGE']) p
      where relkind = 'S' and has_sequence_privilege(ours.oid, p)
    union all
    select 'create in the database' where has_database_privilege(current_database(), 'CREATE')`,
};

const closedFunctions = {
  name: 'condition_functions',
  text: `select distinct 'execute on ' || f.proname as missing from ${ourFunctions('ledger')}
    where not has_function_privilege(f.oid, 'EXECUTE')`,
};

/** Compares the serving role's privileges with those that decisions need (`serving-role.ts`). */
async function roleCondition(run: Run): Promise<RoleCondition> {
  const { rows } = await run<{ role: string; is_superuser: boolean; is_owner: boolean }>(who);
  const row = rows[0];
  if (row === undefined) throw new Error('Postgres did not name the serving role');
  const privileges = (await run<{ held: string }>(held)).rows.map((one) => one.held);
  const functions = (await run<{ missing: string }>(closedFunctions)).rows.map((one) => one.missing);
  const [created] = (await run<CreatorsRow>(creating)).rows;
  const closing = created && closingStatement(created);
  const needed = neededPrivileges();
  return {
    role: row.role,
    isSuperuser: row.is_superuser,
    isOwner: row.is_owner,
    creation:
      closing === undefined ? undefined : { isOpenToAll: created?.open_to_all === true, closingStatement: closing },
    surplus: privileges.filter((one) => !needed.includes(one)).sort(),
    missing: [...needed.filter((one) => !isHeld(one, privileges)), ...functions].sort(),
  };
}

/** A privilege on a table includes its columns. */
function isHeld(needed: string, privileges: readonly string[]): boolean {
  return privileges.includes(needed) || privileges.includes(needed.replace(/ \(.*?\)/, ''));
}

/** Splits each privilege into one entry per column: `update (due_at) on outbox`. */
function neededPrivileges(): readonly string[] {
  return Object.entries(TABLE_PRIVILEGES).flatMap(([table, privileges]) =>
    privileges.split(/, (?![^(]*\))/).flatMap((privilege) => {
      const [, word = privilege, columns] = /^(\w+) \((.*)\)$/.exec(privilege) ?? [];
      if (columns === undefined) return [`${word} on ${table}`];
      return columns.split(', ').map((column) => `${word} (${column}) on ${table}`);
    }),
  );
}

const standing = {
  name: 'condition_standing',
  text: `select pg_is_in_recovery() as is_standby, current_setting('synchronous_standby_names') as names,
      (select count(*)::integer from pg_stat_replication) as connected`,
};

interface StandingRow {
  readonly is_standby: boolean;
  readonly names: string;
  /** Every role may count the connections of standbys, but only some see the names. */
  readonly connected: number;
}

/** How many standbys a commit waits for: `ANY 2 (a, b, c)`, `FIRST 2 (a, b, c)`, `2 (a, b, c)`, or `a, b` for one. */
function neededStandbys(names: string): number {
  if (names.trim() === '') return 0;
  return Number(/^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}

/** No agent has this id. The name of each row differs, so that commands which run at once do not wait for each other. */
const writeProbe = {
  name: 'condition_write',
  text: "insert into spent_assertions (agent_id, jti, forget_at) values ('mandate doctor', gen_random_uuid()::text, now())",
};

/** An ordinary lock, such as that of a new partition, is gone by then. */
const LASTING_LOCK_MS = 1000;

async function writingCondition(connections: Connections): Promise<WritingCondition> {
  const { run } = connections;
  const [row] = (await run<StandingRow>(standing)).rows;
  if (row === undefined) throw new Error('Postgres did not say whether it is a standby');
  return {
    isStandby: row.is_standby,
    standbys: { needed: neededStandbys(row.names), connected: row.connected },
    awaitingStandby: await awaitingStandby(run),
    lockHolders: await lastingLocks(run),
    fault: await probeFault(connections),
    damage: await pageDamage(run),
  };
}

async function lastingLocks(run: Run): Promise<readonly LockHolder[]> {
  const before = await lockHolders(run);
  if (before.length === 0) return [];
  await pause(LASTING_LOCK_MS);
  return (await lockHolders(run)).filter(({ pid }) => before.some((one) => one.pid === pid));
}

/** Why a row cannot be written. A transaction that writes also needs a transaction number, and space in the WAL. */
async function probeFault({ transact }: Connections): Promise<DatabaseFault | undefined> {
  const written = new Error('The row is rolled back.');
  const thrown: unknown = await transact(async (run) => {
    await run(writeProbe);
    throw written;
  }).catch((error: unknown) => error);
  if (thrown === written) return undefined;
  if (thrown instanceof StorageUnavailable && thrown.fault !== undefined) return thrown.fault;
  throw thrown;
}

/** The kinds of connection, the best first. */
const LINKS: readonly DatabaseLink[] = ['local', 'verified', 'unverified', 'plain'];

/**
 * Whether an attacker on the network could read the traffic to Postgres, or impersonate the server: with several hosts,
 * on the way to the worst one. Parses the connection string and the environment as the driver does, without connecting.
 */
export function linkCondition(uri: string): DatabaseLink {
  const links = hostsOf(uri).map(linkOf);
  return LINKS.findLast((link) => links.includes(link)) ?? 'plain';
}

function linkOf(connectionString: string): DatabaseLink {
  const client = new pg.Client({ connectionString });
  // The driver holds TLS options here, although its type is boolean.
  const ssl: unknown = client.ssl;
  if (client.host.startsWith('/') || isLoopback(client.host)) return 'local';
  if (ssl === false) return 'plain';
  const isAnybodyTaken =
    typeof ssl === 'object' && ssl !== null && 'rejectUnauthorized' in ssl && !ssl.rejectUnauthorized;
  return isAnybodyTaken ? 'unverified' : 'verified';
}
