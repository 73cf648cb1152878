import { expect } from 'chai';
import {
  type ClientConnection,
  sharesSessions,
} from '../../../../../adapters/storage/postgres/pool/shared-sessions.ts';
import {
  connectOutside,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../../support/databases.ts';

describe('the sessions behind a connection to Postgres', () => {
  let database: FreshDatabase;
  let sessions: OutsideConnection[] = [];
  before(async () => {
    database = await freshDatabase('postgres', 'absent');
  });
  afterEach(async () => {
    await Promise.all(sessions.map((session) => session.close()));
    sessions = [];
  });
  after(() => database.drop());

  async function direct(): Promise<ClientConnection> {
    const { sql, close } = await connectOutside(database);
    return { query: async (text) => ({ rows: await sql(text) }), end: close };
  }

  /** A pooler in transaction mode: a transaction takes a free session, and its end frees it. */
  function pooler(choose: 'newest' | 'oldest', beforehand: number) {
    const free: OutsideConnection[] = [];
    const another = async () => {
      const session = await connectOutside(database);
      sessions.push(session);
      return session;
    };
    return async (): Promise<ClientConnection> => {
      while (sessions.length < beforehand) free.push(await another());
      let held: OutsideConnection | undefined;
      return {
        async query(text) {
          held ??= (choose === 'newest' ? free.pop() : free.shift()) ?? (await another());
          const rows = await held.sql(text);
          if (text === 'commit' || text === 'rollback') {
            free.push(held);
            held = undefined;
          }
          return { rows };
        },
        end: async () => undefined,
      };
    };
  }

  it('are not shared without a pooler', async () => {
    expect(await sharesSessions(direct)).to.equal(false);
  });

  for (const [title, choose, beforehand] of [
    ['that uses the latest session again', 'newest', 0],
    ['that has idle sessions, and uses the latest again', 'newest', 3],
    ['that uses two sessions in turn', 'oldest', 2],
    ['that uses three sessions in turn', 'oldest', 3],
  ] as const) {
    it(`are shared by a pooler in transaction mode ${title}`, async () => {
      expect(await sharesSessions(pooler(choose, beforehand))).to.equal(true);
    });
  }
});
