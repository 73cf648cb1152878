/** Reads the facts of decisions (application/decisions/fact.ts) from Postgres, most of them by one statement. */

import type { About, Answer, FactName, Question, Questions } from '../../../application/decisions/fact.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import { byKeys, postgres } from '../dialect.ts';
import { lockedSessions } from '../queries/sessions.ts';
import { countUsers } from '../queries/users.ts';
import { type RowFact, type RowFactName, rowFacts } from '../row-facts.ts';
import { type Bound, storable } from '../rows/column.ts';
import { POSTGRES_TYPES } from '../tables.ts';
import { answer } from './answer.ts';
import { bindInstant, readInstant } from './column-types.ts';
import { readDueApprovals } from './due-approvals.ts';
import {
  type LiveTaskRow,
  liveTask,
  readDueTasks,
  readEndedTasks,
  readLiveTasks,
  readSomeLiveTasks,
  toLiveTasks,
} from './live-tasks.ts';
import { LOCK } from './locks.ts';
import type { Prepared, Run } from './pool/pool.ts';

type Key = Readonly<Record<string, Bound | undefined | readonly number[]>>;

/** How to answer the questions of one kind of fact. */
interface Lookup<Name extends FactName> {
  /** The columns of the key, with their types, as one row `q` per question. */
  readonly keys: string;
  /** A query for the rows that answer `q`. It returns instants as text: JSON would change their form. */
  readonly found: string;
  key(about: About<Name>, databaseClock: Clock | undefined): Key;
  /** @param rows that `found` returned for one question, in any order */
  read(rows: readonly never[]): Answer<Name> | undefined;
}

/** `live_tasks` is looked up in a batch only. */
type LookedUp = Exclude<
  FactName,
  'some_live_tasks' | 'due_tasks' | 'due_approvals' | 'ended_tasks' | 'sessions' | 'user_count'
>;

/** The lookup of a fact that both engines read by one select. */
function shared<Name extends RowFactName>({ keys, text, values, instants, read }: RowFact<Name>): Lookup<Name> {
  return {
    keys: Object.entries(keys)
      .map(([column, type]) => `${column} ${POSTGRES_TYPES[type]}`)
      .join(', '),
    found: byKeys(text(postgres)),
    key: (about) => values(about, postgres),
    read: (rows: readonly Readonly<Record<string, unknown>>[]) =>
      read(rows.map((row) => withInstants(row, instants)) as never),
  };
}

/** JSON has instants as text. */
function withInstants(row: Readonly<Record<string, unknown>>, columns: readonly string[]) {
  const read = columns.map((column) => [column, row[column] === null ? null : readInstant(String(row[column]))]);
  return columns.length === 0 ? row : { ...row, ...Object.fromEntries(read) };
}

function lookup<Name extends LookedUp, Row>(
  keys: string,
  found: string,
  key: Lookup<Name>['key'],
  read: (rows: readonly Row[]) => Answer<Name> | undefined,
): Lookup<Name> {
  return { keys, found, key, read: read as Lookup<Name>['read'] };
}

/** The audience's oldest open status list. */
const OPEN_LIST = `select list_id, entries from status_lists s
  where s.audience = q.audience and s.closed_at is null order by s.created_at, s.list_id limit 1`;

/** Two decisions of a batch may draw one index: the second one then takes its next. */
const ENOUGH_FREE = 2;

/**
 * Whether no task holds the index, and no other transaction has its lock, which is then taken. Without the lock two concurrent
 * batches would often take one index, and all decisions of one of them would run again. A task that was committed after
 * the statement began is not seen: then the unique key decides.
 */
const isFree = `case when exists (
    select from tasks t where t.status_list = l.list_id and t.status_index = index offset 0
  ) then false else pg_try_advisory_xact_lock(${LOCK.statusIndex}, hashtext(l.list_id) # index) end`;

const drawnIndices = `array(
    select index from unnest(q.draws) as draw cross join lateral (select (draw % l.entries)::integer as index) drawn
      where ${isFree} limit ${ENOUGH_FREE}
  )`;

/** Indices in a block: each is counted separately, so that no planner sorts the whole list. */
const BLOCK = 128;

/** The next free indices, from the block of the first draw to the end of the list, and then from its beginning. */
const nextIndices = `array(
    select index from (select least(l.entries, ${BLOCK}) as size) block
      cross join lateral generate_series(0, l.entries / size - 1) as step
      cross join lateral (
        select first from (select ((q.draws[1] / size + step) % (l.entries / size) * size)::integer as first) range
          where size > (
            select count(*) from tasks t
              where t.status_list = l.list_id and t.status_index >= first and t.status_index < first + size
          ) offset 0
      ) incomplete
      cross join lateral generate_series(first, first + size - 1) as index
      where ${isFree} limit ${ENOUGH_FREE}
  )`;

const sharedLookups = Object.fromEntries(
  Object.entries(rowFacts).map(([name, fact]) => [name, shared(fact as RowFact<never>)]),
) as unknown as { readonly [Name in RowFactName]: Lookup<Name> };

const lookups: { readonly [Name in LookedUp]: Lookup<Name> } = {
  ...sharedLookups,

  status_slot: lookup<'status_slot', { list_id: string; entries: number; free: readonly number[] }>(
    'audience text, draws bigint[]',
    `select l.list_id, l.entries, case when cardinality(d.free) > 0 then d.free else ${nextIndices} end as free
      from (${OPEN_LIST}) l cross join lateral (select ${drawnIndices} as free offset 0) d`,
    ({ audience, draws }) => ({ audience: storable('audience', audience), draws }),
    ([row]) => row && { listId: row.list_id, entries: row.entries, free: row.free },
  ),

  taken_status_indices: lookup<'taken_status_indices', { status_index: number }>(
    'list_id text, indices integer[]',
    'select status_index from tasks t where t.status_list = q.list_id and t.status_index = any (q.indices)',
    ({ listId, indices }) => ({ list_id: listId, indices }),
    (rows) => rows.map(({ status_index: index }) => index),
  ),

  open_status_list: lookup<'open_status_list', { list_id: string; has_room: boolean; is_only: boolean }>(
    'audience text',
    `select l.list_id,
        l.entries > (select count(*) from tasks t where t.status_list = l.list_id and t.status_index is not null) as has_room,
        not exists (
          select from status_lists o where o.audience = q.audience and o.closed_at is null and o.list_id <> l.list_id
        ) as is_only
      from (${OPEN_LIST}) l`,
    (audience) => ({ audience: storable('audience', audience) }),
    ([row]) => row && { listId: row.list_id, hasRoom: row.has_room, isOnly: row.is_only },
  ),

  live_tasks: lookup<'live_tasks', LiveTaskRow>(
    liveTask.keys,
    liveTask.found,
    ({ selection, at }, databaseClock) => {
      if (selection.kind !== 'task') throw new Error('only the end of one task may share a transaction');
      const databaseNow = databaseClock && bindInstant(databaseClock.now());
      return { task_id: selection.taskId, at: bindInstant(at), database_now: databaseNow };
    },
    ([row]) => toLiveTasks(row),
  ),
};

const NAMES = Object.keys(lookups) as readonly LookedUp[];

/**
 * One statement for each combination of kinds: an unused part of a statement costs its start too. Each parameter is a
 * JSON array of the questions of one kind. `offset 0` makes the planner look up each question separately. It prevents a
 * join, which would scan a table that old statistics call small.
 */
function selectFacts(kinds: readonly LookedUp[]): Prepared {
  return {
    name: `facts_${kinds.map((name) => NAMES.indexOf(name)).join('_')}`,
    text: kinds
      .map(
        (name, nth) => `select q.nth, row_to_json(f) as found
          from json_to_recordset($${nth + 1}::json) as q (nth integer, ${lookups[name].keys})
          cross join lateral (${lookups[name].found} offset 0) f`,
      )
      .join(' union all '),
  };
}

/**
 * @param databaseClock in tests: replaces the clock of the server
 * @returns the answers to each decision's questions, under the questions' names
 */
export async function readFacts(
  run: Run,
  asked: readonly Questions[],
  databaseClock?: Clock,
): Promise<readonly Facts[]> {
  const answers: Answers = new Map();
  const questions = questionsOf(asked);
  // Questions that lock rows come before the lookups, which then see every commit that the locks waited for. `user_count`
  // reads a whole table: inside `selectFacts` it would run for every batch.
  for (const question of questions) {
    if (question.fact === 'live_tasks') answers.set(question, await readLiveTasks(run, question.about, databaseClock));
    else if (question.fact === 'some_live_tasks')
      answers.set(question, await readSomeLiveTasks(run, question.about, databaseClock));
    else if (question.fact === 'due_tasks') answers.set(question, await readDueTasks(run, question.about));
    else if (question.fact === 'due_approvals') answers.set(question, await readDueApprovals(run, question.about));
    else if (question.fact === 'ended_tasks') answers.set(question, await readEndedTasks(run, question.about));
    else if (question.fact === 'sessions') answers.set(question, await answer(run, lockedSessions, question.about));
    else if (question.fact === 'user_count') answers.set(question, await answer(run, countUsers, question.about));
  }
  await lookUp(
    run,
    questions.filter((question) => !answers.has(question)),
    answers,
    databaseClock,
  );
  return asked.map((each) => named(each, answers));
}

/**
 * Reads the facts of a batch by one statement.
 * @returns `undefined` for a decision that must run alone, because it would end several tasks
 */
export async function readFactsOfBatch(
  run: Run,
  asked: readonly Questions[],
  databaseClock: Clock | undefined,
): Promise<readonly (Facts | undefined)[]> {
  const answers: Answers = new Map();
  await lookUp(run, questionsOf(asked), answers, databaseClock);
  const endsSeveral = (question: Question) => question.fact === 'live_tasks' && answers.get(question) === undefined;
  return asked.map((each) => (questionsOf([each]).some(endsSeveral) ? undefined : named(each, answers)));
}

type Facts = Readonly<Record<string, unknown>>;

type Answers = Map<Question, unknown>;

function questionsOf(asked: readonly Questions[]): readonly Question[] {
  return asked.flatMap((each) => Object.values(each).flat()).filter((question) => question !== undefined);
}

function named(asked: Questions, answers: Answers): Facts {
  return Object.fromEntries(
    Object.entries(asked).map(([name, question]) => [
      name,
      question === undefined || 'fact' in question
        ? question && answers.get(question)
        : question.map((one) => one && answers.get(one)),
    ]),
  );
}

async function lookUp(
  run: Run,
  questions: readonly Question[],
  answers: Answers,
  databaseClock: Clock | undefined,
): Promise<void> {
  if (questions.length === 0) return;
  const keys = new Map<LookedUp, object[]>();
  const found: unknown[][] = [];
  for (const [nth, { fact, about }] of questions.entries()) {
    const kind = fact as LookedUp;
    const { key } = lookups[kind] as Lookup<LookedUp>;
    const ofKind = keys.get(kind) ?? [];
    ofKind.push({ nth, ...key(about as never, databaseClock) });
    keys.set(kind, ofKind);
    found.push([]);
  }
  // In the order of NAMES: one combination has one name.
  const kinds = NAMES.filter((name) => keys.has(name));
  const values = kinds.map((kind) => JSON.stringify(keys.get(kind)));
  const { rows } = await run<{ nth: number; found: string }>(selectFacts(kinds), values);
  for (const row of rows) found[row.nth]?.push(JSON.parse(row.found));
  for (const [nth, question] of questions.entries()) {
    const { read } = lookups[question.fact as LookedUp] as Lookup<LookedUp>;
    answers.set(question, read((found[nth] ?? []) as never[]));
  }
}
