/**
 * Examines the database: its connection, schema, role and clock, and the ledger in it. If the database or the schema is
 * unusable, the other checks are skipped.
 */

import { secondsAhead } from '../../domain/clocks.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { ArchivedPart } from '../../domain/ledger/archived-part.ts';
import type { SignalSource } from '../../domain/signals/without-effect.ts';
import { describeFault } from '../ports/decisions.ts';
import type { Clock } from '../ports/runtime.ts';
import {
  CAPABILITIES,
  DAMAGED_PAGES,
  type DatabaseLink,
  describeDamage,
  describeLockHolders,
  type FailoverCondition,
  type RoleCondition,
  type SchemaStatus,
  type StorageCondition,
  type WritingCondition,
} from '../ports/storage.ts';
import { examineHandOvers, judgeTokenLives, MOST_AGENTS } from './agents.ts';
import {
  A_DAY,
  type Examination,
  type Finding,
  failed,
  failedBy,
  judgeDatabaseClock,
  ok,
  skipped,
  summarizeList,
  warning,
} from './examine.ts';
import {
  judgeArchives,
  judgeBeside,
  judgeGuards,
  judgeNumbering,
  judgeOutbox,
  judgePartitions,
  judgeSealing,
  judgeSigners,
  readNumbers,
} from './ledger.ts';
import { checkOfSignals, judgeSignals } from './signals.ts';
import type { KeyFile } from './signing.ts';
import { judgeUsage } from './status-lists.ts';
import { type ConfiguredLog, judgeLog } from './transparency-log.ts';

export type OpenedStorage =
  | {
      readonly kind: 'opened';
      readonly condition: StorageCondition;
      /** Describes an error that `server()` threw; `undefined` if the server did not answer with a refusal. */
      readonly refusal: (error: unknown) => string | undefined;
      /** What other users of the machine may do with the database's file; `undefined` without a file or permissions. */
      readonly exposure: KeyFile['exposure'] | undefined;
    }
  /** `sentence` says why the database cannot be opened, `remedy` what to do. */
  | { readonly kind: 'unusable'; readonly sentence: string; readonly remedy: string };

interface StorageDependencies {
  readonly clock: Clock;
  readonly isDevelopment: boolean;
  /** `Service:Audit:Partitions:MonthsAhead`. */
  readonly monthsAhead: number;
  /** `Service:Audit:Checkpoint:Interval`, in seconds. */
  readonly checkpointInterval: number;
  readonly hasSink: boolean;
  /** `Service:StatusLists:Entries`; `undefined` without status lists. */
  readonly listEntries: number | undefined;
  /** `Service:Agents:MaxTokenTtl`, in seconds; `undefined` if a setting of its section is wrong. */
  readonly maxTokenTtl: number | undefined;
  /** `Service:Delegation:Enabled`. */
  readonly hasDelegation: boolean;
  /** The receivers whose signals may end nothing. */
  readonly mayEndNothing: readonly SignalSource[];
  /** `undefined` without the transparency log. */
  readonly transparencyLog?: ConfiguredLog | undefined;
  /** Whether people's sponsor keys are their `sub`. */
  readonly keysAreSubjects: boolean;
  /** The ids of the configured keys; `undefined` if they cannot be loaded. */
  readonly kids: () => Promise<readonly string[] | undefined>;
  /** What has left the ledger, as a record says that is proved with the configured keys. */
  readonly archivedPart: (checkpoints: StorageCondition['checkpoints']) => Promise<ArchivedPart | undefined>;
}

/** Rows of each kind. More would take longer than an examination may. */
const MOST_COMPARED = 2000;
const MIGRATE = 'Run `mandate migrate`.';
const NOT_OPENED = 'The database could not be opened.';

/** An examination that is skipped without a database or a schema. */
type InSchema = (
  check: string,
  examine: (condition: StorageCondition, storage: OpenedStorage & { readonly kind: 'opened' }) => Promise<Finding>,
) => Examination;

/** @param opened the database, opened once for all examinations */
export function storageExaminations(
  opened: Promise<OpenedStorage>,
  dependencies: StorageDependencies,
): readonly Examination[] {
  const { clock, isDevelopment } = dependencies;
  const schema = opened.then((storage) => (storage.kind === 'opened' ? storage.condition.schema() : 'absent'));
  // Each examination handles the rejection itself. Without this line, Node would also report it as unhandled.
  schema.catch(() => undefined);

  const inSchema: InSchema = (check, examine) => ({
    check,
    async examine() {
      const storage = await opened;
      if (storage.kind === 'unusable') return skipped(NOT_OPENED);
      const status = await schema.catch(() => undefined);
      if (status === undefined) return skipped('The database does not answer.');
      if (status === 'absent') return skipped('There is no schema yet.');
      return examine(storage.condition, storage);
    },
  });

  return [
    { check: 'database', examine: () => examineDatabase(opened) },
    { check: 'database connection', examine: () => examineLink(opened) },
    { check: 'schema', examine: () => examineSchema(opened, schema) },
    inSchema('database role', async (condition, { exposure }) => {
      const role = await condition.role();
      return role === undefined ? judgeFile(exposure) : judgeRole(role, isDevelopment);
    }),
    inSchema('database writes', async (condition) => judgeWriting(await condition.writing())),
    inSchema('database failover', async (condition) => judgeFailover(await condition.failover())),
    ...ledgerExaminations(inSchema, dependencies),
    ...agentExaminations(inSchema, dependencies),
    ...signalExaminations(inSchema, dependencies),
    ...statusListExaminations(inSchema, dependencies),
    inSchema('database clock', (condition) => examineClock(condition, clock)),
  ];
}

function ledgerExaminations(inSchema: InSchema, dependencies: StorageDependencies): readonly Examination[] {
  const { clock, monthsAhead, checkpointInterval, hasSink, transparencyLog, keysAreSubjects } = dependencies;
  const { kids, archivedPart } = dependencies;
  const inLog = (configured: ConfiguredLog) =>
    inSchema('transparency log', async (condition) => {
      const { newestCheckpoint } = await condition.sealing();
      const problems = await condition.transparencyLog.problems();
      return judgeLog(
        await condition.transparencyLog.state(),
        configured,
        newestCheckpoint?.checkpointId ?? 0,
        problems,
      );
    });
  return [
    inSchema('ledger guards', async (condition) => judgeGuards(await condition.guards())),
    inSchema('ledger partitions', async (condition) =>
      judgePartitions(await condition.months(), clock.now(), monthsAhead),
    ),
    inSchema('ledger numbering', async (condition) => judgeNumbering(await readNumbers(condition))),
    inSchema(
      'ledger sealing',
      async (condition) =>
        judgeArchives(await condition.listedExports(), await archivedPart(condition.checkpoints)) ??
        judgeSealing(await condition.sealing(), await readNumbers(condition), clock.now(), checkpointInterval),
    ),
    inSchema('checkpoint keys', async (condition) => {
      const configured = await kids();
      if (configured === undefined) return skipped('The signing keys could not be loaded.');
      return judgeSigners((await condition.sealing()).signers, configured);
    }),
    inSchema('rows beside the ledger', async (condition) =>
      judgeBeside(
        await condition.besideLedger({ limit: MOST_COMPARED, keysAreSubjects }),
        await archivedPart(condition.checkpoints),
      ),
    ),
    ...(transparencyLog === undefined ? [] : [inLog(transparencyLog)]),
    inSchema('outbox', async (condition) => judgeOutbox(await condition.outbox(), hasSink)),
  ];
}

const MAY_NOT_READ_AGENTS = 'The serving role may not read the agents.';

function agentExaminations(
  inSchema: InSchema,
  { maxTokenTtl, hasDelegation }: StorageDependencies,
): readonly Examination[] {
  const ofAgents = (check: string, examine: (agents: StorageCondition['agents']) => Promise<Finding>) =>
    inSchema(check, async (condition) => {
      // "database role" names the missing privilege.
      if ((await condition.role())?.missing.includes('select on agents') === true) return skipped(MAY_NOT_READ_AGENTS);
      return examine(condition.agents);
    });
  const lives = (above: number) =>
    ofAgents('token lifetimes', async (agents) =>
      judgeTokenLives(await agents.longestTokens({ above, limit: MOST_AGENTS }), above),
    );
  return [
    ...(maxTokenTtl === undefined ? [] : [lives(maxTokenTtl)]),
    ...(hasDelegation ? [ofAgents('hand-overs', examineHandOvers)] : []),
  ];
}

function signalExaminations(inSchema: InSchema, { clock, mayEndNothing }: StorageDependencies): readonly Examination[] {
  return mayEndNothing.map((source) =>
    inSchema(checkOfSignals(source), async (condition) => {
      const since = plusSeconds(clock.now(), -A_DAY);
      return judgeSignals(source, await condition.signalEndedNothing({ source, since }));
    }),
  );
}

function statusListExaminations(
  inSchema: InSchema,
  { clock, listEntries }: StorageDependencies,
): readonly Examination[] {
  if (listEntries === undefined) return [];
  const examine = async (condition: StorageCondition) => {
    // Millions of indices may take longer than a statement may: that is no fault of the service.
    const lists = await condition.statusLists.usage().catch(() => undefined);
    if (lists === undefined) return skipped('Their indices could not be counted in time.');
    return judgeUsage(lists, clock.now(), listEntries);
  };
  return [inSchema('status lists', examine)];
}

async function examineDatabase(opened: Promise<OpenedStorage>): Promise<Finding> {
  const storage = await opened;
  if (storage.kind === 'unusable') return failed(storage.sentence, storage.remedy);
  try {
    return ok(`${await storage.condition.server()} answers.`);
  } catch (error) {
    const refusal = storage.refusal(error);
    if (refusal !== undefined) return failed(refusal, 'Correct the connection string, or what it names on the server.');
    return failedBy(error);
  }
}

async function examineLink(opened: Promise<OpenedStorage>): Promise<Finding> {
  const storage = await opened;
  return storage.kind === 'unusable' ? skipped(NOT_OPENED) : judgeLink(await storage.condition.link());
}

const VERIFY =
  'Add sslmode=verify-full to the address in Service:Database:ConnectionString, and to the one for migrations, unless no other machine is on the network between.';

/** Judges whether an attacker on the network could read the connection, or answer in the database's place. */
function judgeLink(link: DatabaseLink | undefined): Finding {
  switch (link) {
    case undefined:
      return skipped('This database is a file.');
    case 'local':
      return ok('The database is on this machine.');
    case 'verified':
      return ok('What is sent to the database is encrypted, and its certificate is checked.');
    case 'unverified':
      return warning('What is sent to the database is encrypted, but for whoever answers there.', VERIFY);
    case 'plain':
      return warning(
        'What is sent to the database is not encrypted: others on the way can read and change it.',
        VERIFY,
      );
  }
}

async function examineSchema(opened: Promise<OpenedStorage>, schema: Promise<SchemaStatus>): Promise<Finding> {
  const storage = await opened;
  if (storage.kind === 'unusable') return skipped(NOT_OPENED);
  const status = await schema.catch(() => undefined);
  switch (status) {
    case undefined:
      return skipped('The database does not answer.');
    case 'current':
      return judgeDifferences(await storage.condition.schemaDifferences());
    case 'ahead':
      return warning('A newer release has migrated the schema.', 'Run this command of the release that serves.');
    case 'absent':
      return failed(
        'There is no schema.',
        `${MIGRATE} If it has run on this Postgres, its role has another search_path than the serving role.`,
      );
    case 'behind':
      return failed('The schema is of an older release, and the service does not start on it.', MIGRATE);
  }
}

function judgeDifferences(differences: readonly string[]): Finding {
  if (differences.length === 0) return ok('The schema is that of this release.');
  return failed(
    `The schema is not as the migrations of this release make it: ${summarizeList(differences)}.`,
    'Another tool, or an incomplete restore, changed it, and `mandate migrate` does not mend that. See docs/upgrading.md ("A schema that was changed").',
  );
}

/** Judges who may use a database that has no roles. */
function judgeFile(exposure: KeyFile['exposure'] | undefined): Finding {
  if (exposure === 'readable' || exposure === 'writable') {
    return warning(
      `Other users of this machine may ${exposure === 'readable' ? 'read' : 'change'} the file of the database.`,
      'Take the permissions away: chmod 600, also on the -wal and -shm beside it.',
    );
  }
  return skipped('This database has no roles: everybody who may write its file may change the ledger.');
}

/** Privileges that allow removing or falsifying records of decisions. */
const OF_THE_LEDGER = /^(insert|update|delete|truncate|trigger)\b.* on (ledger(_\w+)?|checkpoints)$/;

const OWN_ROLE =
  'Serve as a separate role: name the one that owns the schema in Service:Database:MigrationConnectionString, another in Service:Database:ConnectionString, and run `mandate migrate`.';

const revoke = ({ closingStatement }: NonNullable<RoleCondition['creation']>): string =>
  `As the owner of the schema, or as a superuser, run \`${closingStatement}\`.`;

/**
 * Judges whether the serving role has the privileges that decisions need, and no others.
 *
 * @param isDevelopment on a development host, a serving role that owns the ledger is only a warning
 */
function judgeRole(role: RoleCondition, isDevelopment: boolean): Finding {
  const warningOrFailed = isDevelopment ? warning : failed;
  if (role.isSuperuser) {
    return warningOrFailed(`The role that serves, ${role.role}, is a superuser: no guard holds it.`, OWN_ROLE);
  }
  const { creation } = role;
  if (creation?.isOpenToAll)
    return failed('Every role of the database may create in the schema of the ledger.', revoke(creation));
  if (role.isOwner) {
    return warningOrFailed(
      `The role that serves, ${role.role}, owns the ledger, and so can lift its guards.`,
      OWN_ROLE,
    );
  }
  if (role.missing.length > 0) {
    return failed(
      `${role.role} lacks what decisions need: ${summarizeList(role.missing)}.`,
      'Run `mandate migrate`, which grants it.',
    );
  }
  if (creation !== undefined) {
    return failed(
      `${role.role} may create functions in the schema of the ledger, which the owner could then run.`,
      revoke(creation),
    );
  }
  const dangerous = role.surplus.filter((privilege) => OF_THE_LEDGER.test(privilege));
  const remedy =
    'Run `mandate migrate`, which takes it away on our tables; what comes by another role or from the schema, revoke yourself.';
  if (dangerous.length > 0) return failed(`${role.role} may change the ledger: ${summarizeList(dangerous)}.`, remedy);
  if (role.surplus.length > 0)
    return warning(`${role.role} may do more than it needs: ${summarizeList(role.surplus)}.`, remedy);
  return ok(`${role.role} may do what decisions need, and no more: it can only add to the ledger.`);
}

const WAIT_FOR_STANDBY =
  'Bring the standby back, or take it out of synchronous_standby_names: then its commits are lost if this server is. With two standbys (ANY 1) one may be away.';

/** Judges whether a decision can be committed, and stays committed. */
function judgeWriting(writing: WritingCondition | undefined): Finding {
  if (writing === undefined) {
    return skipped(
      'On SQLite only a running service can tell, in its /readyz: what is rolled back never reaches the disk.',
    );
  }
  const { fault, isStandby, lockHolders, awaitingStandby, standbys, damage } = writing;
  if (isStandby) {
    return failed(
      'The address names a standby: nothing can be decided there.',
      'Let Service:Database:ConnectionString name the primary, or a proxy that follows it.',
    );
  }
  if (lockHolders.length > 0) {
    return failed(
      `Another session holds a lock for which decisions wait: ${describeLockHolders(lockHolders)}.`,
      'See pg_stat_activity for what it does: a migration of another tool, VACUUM FULL, CREATE INDEX, an open transaction. End it with pg_terminate_backend, or wait.',
    );
  }
  if (fault !== undefined) return failed(`A row cannot be written: ${describeFault(fault)}.`, fault.act);
  if (awaitingStandby > 0) {
    const sessions = awaitingStandby === 1 ? 'One session waits' : `${awaitingStandby} sessions wait`;
    return failed(`${sessions} for a synchronous standby to confirm a commit.`, WAIT_FOR_STANDBY);
  }
  if (damage !== undefined) return failed(describeDamage(damage), DAMAGED_PAGES);
  if (standbys.needed > 0 && standbys.connected > standbys.needed) {
    return ok(
      `A row can be written. ${standbys.needed} of ${standbys.connected} standbys must have a commit: after a failover, an old primary that another standby still follows could answer. Fence it.`,
    );
  }
  return ok('A row can be written.');
}

/** Judges whether the service would notice that another server was promoted. */
function judgeFailover(failover: FailoverCondition | undefined): Finding {
  if (failover === undefined) return skipped('This database is a file.');
  if (failover.isStandby) return skipped('The address names a standby.');
  const { missing } = failover;
  if (missing.length === 0)
    return ok('The service knows the timeline, and a switch without effects waits for standbys.');
  const consequences = missing.map(({ capability, code }) => {
    const { needs, without } = CAPABILITIES[capability];
    return `${needs} (${code}): ${without}`;
  });
  return warning(
    `Postgres refuses ${consequences.join('; and ')}.`,
    'See docs/high-availability.md ("What a hosted Postgres may lack").',
  );
}

async function examineClock(condition: StorageCondition, clock: Clock): Promise<Finding> {
  const sentAt = clock.now();
  const databaseTime = await condition.now();
  if (databaseTime === undefined) return skipped('The database has no separate clock.');
  return judgeDatabaseClock(secondsAhead(sentAt, databaseTime, clock.now()));
}
