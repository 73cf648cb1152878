/**
 * The SQL of every query, fact and effect that both engines share is, as each engine gets it, in a file beside this test, so that a change of it is read in review.
 * With MANDATE_WRITE_SQL=1 the test writes these files.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { byKeys, compile, type Dialect, postgres, sqlite } from '../../../adapters/storage/dialect.ts';
import type { Command } from '../../../adapters/storage/queries/query.ts';
import { rowEffects } from '../../../adapters/storage/row-effects.ts';
import { rowFacts } from '../../../adapters/storage/row-facts.ts';
import { schemaInMemory } from '../../../adapters/storage/sqlite/migrate.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const STORAGE = new URL('../../../adapters/storage/', import.meta.url);
/** They hold no query. */
const WITHOUT_QUERY = ['query.ts', 'ports.ts', 'condition.ts'];
const ENGINES = { postgres, sqlite };

const page = { after: undefined, limit: 10, now: NOON };
const tasks = { ...page, state: 'revoked', mostRead: 100 };
const NAMES = { sponsorKey: 'person', agentId: 'agent', audience: 'https://api.example' };
const FIRST = { blockedAt: NOON, sponsorKey: 'person', source: 'scim' };

/** The questions on which the text of a query depends, by what they are about. Without any, the text is always the same. */
const QUESTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  listAgents: { 'all agents': {}, 'a page': { after: 'agent', limit: 10 } },
  listUsers: {
    'all users': { skip: 0, limit: 10 },
    'users of a name': { match: { attribute: 'userName', value: 'ada' }, skip: 0, limit: 10 },
    'users of an external id': { match: { attribute: 'externalId', value: '7' }, skip: 0, limit: 10 },
  },
  listBlocks: {
    'of all sources': { after: FIRST, limit: 10 },
    'of a source': { source: 'scim', after: FIRST, limit: 10 },
  },
  delegationRefusals: {
    'of all agents': { sponsorKey: 'person', limit: 10 },
    'of some agents': { sponsorKey: 'person', among: ['agent'], limit: 10 },
  },
  listActs: {
    'all acts': { limit: 10 },
    'of an operator, before a number': { subject: 'rita', before: 9, limit: 10 },
    'about a record': { seq: 9, limit: 10 },
  },
  countLiveTasks: {
    'of all': { of: undefined, now: NOON, most: 10 },
    'of an agent': { of: { agentId: 'agent' }, now: NOON, most: 10 },
    'of a person': { of: { sponsorKey: 'person' }, now: NOON, most: 10 },
    'of the end of an agent': { of: { endOf: { agentId: 'agent' } }, now: NOON, most: 10 },
    'of the end of a task': { of: { endOf: { taskId: 'task' } }, now: NOON, most: 10 },
  },
  listTasks: {
    'of all people': tasks,
    'of a person': { ...tasks, sponsorKey: 'person' },
    'live, of an audience': { ...tasks, state: 'live', audience: 'https://api.example' },
    'expired, of a person, an agent and an audience': { ...tasks, ...NAMES, state: 'expired' },
  },
  ownLiveTasks: {
    'of all agents': { sponsorKey: 'person', question: page },
    'of an agent': { sponsorKey: 'person', question: { ...page, agentId: 'agent' } },
  },
  lockedSessions: {
    'one session': { of: 'me', which: { kind: 'one', sessionHash: 'hash' } },
    'of a person': { of: 'me', which: { kind: 'person', subject: 'ada' } },
    'of a session and a person': { of: 'me', which: { kind: 'session', sessionId: 'sid', subject: 'ada' } },
  },
  pageRows: {
    'all records': { limit: 10 },
    'denials of an agent, after a position': {
      agentId: 'agent',
      decision: 'deny',
      after: { at: NOON, seq: 9 },
      limit: 10,
    },
    'of a person within a period': { sponsor: 'ada', from: NOON, to: NOON, limit: 10 },
    'of a task, newest first, after a position': {
      taskId: 'task',
      newestFirst: true,
      after: { at: NOON, seq: 9 },
      limit: 10,
    },
    'of a person within a period, newest first': { sponsor: 'ada', newestFirst: true, from: NOON, to: NOON, limit: 10 },
    'of a task, after a position': { taskId: 'task', after: { at: NOON, seq: 9 }, limit: 10 },
  },
  countDenials: {
    'of all agents': { from: NOON, most: 10, mostAgents: 10 },
    'of these agents': { from: NOON, most: 10, agents: ['agent'], mostAgents: 1 },
  },
  listApprovals: {
    'all approvals': { after: undefined, limit: 10, mostRead: 100, now: NOON },
    'of a person and an agent, in a state': {
      sponsorKey: 'person',
      agentId: 'agent',
      state: 'pending',
      after: 'approval_0',
      limit: 10,
      mostRead: 100,
      now: NOON,
    },
  },
  voidAuthorizations: {
    'of all': { selection: { kind: 'everything' }, reason: 'sponsor_stopped' },
    'some requests': { selection: { kind: 'requests', requestIds: ['areq'] }, reason: 'sponsor_stopped' },
    'of an agent': { selection: { kind: 'agent', agentId: 'agent' }, reason: 'sponsor_stopped' },
    'of a person': { selection: { kind: 'sponsor', sponsorKey: 'person' }, reason: 'sponsor_stopped' },
    'of a person and an agent': {
      selection: { kind: 'sponsor_agent', sponsorKey: 'person', agentId: 'agent' },
      reason: 'sponsor_stopped',
    },
    'of a session': { selection: { kind: 'session', sessionId: 'sid' }, reason: 'sponsor_stopped' },
    'of a session, or of none and a person': {
      selection: { kind: 'session_or_none', sessionId: 'sid', subject: 'ada' },
      reason: 'sponsor_stopped',
    },
    'of a sub': { selection: { kind: 'subject', subject: 'ada' }, reason: 'sponsor_stopped' },
  },
  limitedPageRows: {
    'of an event and an audience': { event: 'task.revoked', audience: 'https://api.example', limit: 10, mostRead: 100 },
    'denied for a reason, newest first': {
      decision: 'deny',
      reason: 'task_revoked',
      newestFirst: true,
      limit: 10,
      mostRead: 100,
    },
    'of an agent, allowed': { agentId: 'agent', decision: 'allow', from: NOON, limit: 10, mostRead: 100 },
  },
};

/** The text of a statement for each engine. */
type Texts = Readonly<Record<keyof typeof ENGINES, string>>;
type Titled = readonly [title: string, texts: Texts];

function textsOf(text: (dialect: Dialect) => string): Texts {
  return { postgres: compile(text(postgres), postgres).text, sqlite: compile(text(sqlite), sqlite).text };
}

function queriesOf(module: object): readonly Titled[] {
  // An export is a query, a command, or a list of commands.
  const exported = Object.entries(module).flatMap(([name, value]): [string, unknown][] =>
    Array.isArray(value) ? value.map((each) => [each.name, each]) : [[name, value]],
  );
  const queries = exported.filter(
    (one): one is [string, Command<unknown>] => typeof one[1] === 'object' && one[1] !== null && 'text' in one[1],
  );
  return queries.flatMap(([name, { text }]) =>
    Object.entries(QUESTIONS[name] ?? { '': undefined }).map(([what, question]): Titled => {
      const title = what === '' ? name : `${name}: ${what}`;
      return [title, textsOf((dialect) => (typeof text === 'string' ? text : text(dialect, question)))];
    }),
  );
}

const facts = Object.entries(rowFacts).map(([name, { text }]): Titled => {
  const texts = textsOf(text);
  return [name, { ...texts, postgres: byKeys(text(postgres)) }];
});
const effects = Object.entries(rowEffects).map(([name, { text }]): Titled => [name, textsOf(text)]);

const SOURCES: Readonly<Record<string, () => Promise<readonly Titled[]>>> = {
  'row-facts.ts': async () => facts,
  'row-effects.ts': async () => effects,
  ...Object.fromEntries(
    readdirSync(new URL('queries/', STORAGE))
      .filter((name) => !WITHOUT_QUERY.includes(name))
      .map((name) => [
        `queries/${name}`,
        async () => queriesOf(await import(new URL(`queries/${name}`, STORAGE).href)),
      ]),
  ),
};

/** The lines of the source, without their indentation. */
function evenly(sql: string): string {
  return sql.trim().replace(/\s*\n\s*/g, '\n  ');
}

describe('A query with a name', () => {
  it('has one text for all questions, because Postgres parses it once', async () => {
    for (const [source, read] of Object.entries(SOURCES)) {
      if (!source.startsWith('queries/')) continue;
      const module = await import(new URL(source, STORAGE).href);
      const titled = await read();
      for (const [name, query] of Object.entries<Partial<Command<unknown>>>(module)) {
        const texts = titled.flatMap(([title, { postgres: text }]) => (title.split(':')[0] === name ? [text] : []));
        if (query.name !== undefined && texts.length > 0) expect(new Set(texts), name).to.have.property('size', 1);
      }
    }
  });
});

for (const [source, read] of Object.entries(SOURCES)) {
  describe(`The SQL of adapters/storage/${source}`, () => {
    let titled: readonly Titled[];
    before(async () => {
      titled = await read();
    });

    it('is that of the file beside this test', () => {
      const sql = titled
        .map(([title, texts]) => {
          const ofEngines = Object.entries(texts).map(([engine, text]) => `-- ${engine}\n${evenly(text)};\n`);
          return `-- ${title}\n${ofEngines.join('')}`;
        })
        .join('\n');
      const beside = new URL(source.replace('.ts', '.sql'), import.meta.url);
      if (process.env.MANDATE_WRITE_SQL === '1') writeFileSync(beside, sql);
      expect(titled).not.to.have.length(0);
      expect(sql).to.equal(readFileSync(beside, 'utf8'));
    });

    it('can be prepared by SQLite', () => {
      const schema = schemaInMemory();
      for (const [, texts] of titled) schema.prepare(texts.sqlite);
      schema.close();
    });
  });
}
