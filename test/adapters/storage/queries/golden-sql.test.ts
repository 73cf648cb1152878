/**
 * The SQL of every query as each engine gets it is in a file beside this test, so that a change of it is read in review.
 * With MANDATE_WRITE_SQL=1 the test writes these files.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { compile, type Dialect, postgres, sqlite } from '../../../../adapters/storage/dialect.ts';
import type { Query } from '../../../../adapters/storage/queries/query.ts';
import { schemaInMemory } from '../../../../adapters/storage/sqlite/migrate.ts';
import { NOON } from '../../../support/domain-fixtures.ts';

const QUERIES = new URL('../../../../adapters/storage/queries/', import.meta.url);
/** They hold no query. */
const WITHOUT_QUERY = ['query.ts', 'ports.ts'];
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
  listActs: {
    'all acts': { limit: 10 },
    'of an operator, before a number': { subject: 'rita', before: 9, limit: 10 },
    'about a record': { seq: 9, limit: 10 },
  },
  countLiveTasks: {
    'of all': { of: undefined, now: NOON, most: 10 },
    'of an agent': { of: { agentId: 'agent' }, now: NOON, most: 10 },
    'of a person': { of: { sponsorKey: 'person' }, now: NOON, most: 10 },
  },
  listTasks: {
    'of all people': tasks,
    'of a person': { ...tasks, sponsorKey: 'person' },
    'live, of an audience': { ...tasks, state: 'live', audience: 'https://api.example' },
    'expired, of a person, an agent and an audience': { ...tasks, ...NAMES, state: 'expired' },
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
    'of a task, after a position': { taskId: 'task', after: { at: NOON, seq: 9 }, limit: 10 },
  },
  limitedPageRows: {
    'of an event and an audience': { event: 'task.revoked', audience: 'https://api.example', limit: 10, mostRead: 100 },
    'of an agent, allowed': { agentId: 'agent', decision: 'allow', from: NOON, limit: 10, mostRead: 100 },
  },
};

type AnyQuery = Query<unknown, unknown>;

function textOf({ text }: AnyQuery, dialect: Dialect, question: unknown): string {
  return compile(typeof text === 'string' ? text : text(dialect, question), dialect).text;
}

/** The lines of the source, without their indentation. */
function evenly(sql: string): string {
  return sql.trim().replace(/\s*\n\s*/g, '\n  ');
}

function queriesOf(module: object): readonly (readonly [name: string, query: AnyQuery])[] {
  return Object.entries(module).filter(([, value]) => typeof value === 'object' && 'text' in value && 'read' in value);
}

for (const file of readdirSync(QUERIES).filter((name) => !WITHOUT_QUERY.includes(name))) {
  describe(`The SQL of adapters/storage/queries/${file}`, () => {
    let queries: ReturnType<typeof queriesOf>;
    before(async () => {
      queries = queriesOf(await import(new URL(file, QUERIES).href));
    });
    const cases = () =>
      queries.flatMap(([name, query]) =>
        Object.entries(QUESTIONS[name] ?? { '': undefined }).map(([what, question]) => ({
          name,
          query,
          what,
          question,
        })),
      );

    it('is that of the file beside this test', () => {
      const sql = cases().map(({ name, query, what, question }) => {
        const texts = Object.entries(ENGINES).map(
          ([engine, dialect]) => `-- ${engine}\n${evenly(textOf(query, dialect, question))};\n`,
        );
        return `-- ${name}${what === '' ? '' : `: ${what}`}\n${texts.join('')}`;
      });
      const beside = new URL(file.replace('.ts', '.sql'), import.meta.url);
      if (process.env.MANDATE_WRITE_SQL === '1') writeFileSync(beside, sql.join('\n'));
      expect(queries).not.to.have.length(0);
      expect(sql.join('\n')).to.equal(readFileSync(beside, 'utf8'));
    });

    it('can be prepared by SQLite', () => {
      const schema = schemaInMemory();
      for (const { query, question } of cases()) schema.prepare(textOf(query, sqlite, question));
      schema.close();
    });
  });
}
