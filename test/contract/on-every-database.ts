/**
 * Runs a suite on a SQLite file and on Postgres. The tests of a suite share one fresh database. SQLite in memory runs
 * the same code as a file, so only in-memory.test.ts uses it (`everyDatabase`).
 */

import {
  databases,
  type FreshDatabase,
  type OutsideConnection,
  type Role,
  type TestDatabase,
} from '../support/databases.ts';
import type { Storage } from '../support/storage.ts';

export interface SuiteDatabase {
  readonly database: () => FreshDatabase;
  readonly storage: () => Storage;
  readonly kind: TestDatabase;
  /** Opens the test's own SQL connection, and closes it after the test. */
  outside(role?: Role): Promise<OutsideConnection>;
}

/** Starting Postgres and creating the schema may take longer than a test. */
const PREPARATION_LIMIT_MS = 120_000;

export function onEveryDatabase(
  title: string,
  suite: (stage: SuiteDatabase) => void,
  kinds: readonly TestDatabase[] = databases,
): void {
  for (const kind of kinds) {
    describe(`${title} on ${kind.name}`, () => {
      let database: FreshDatabase | undefined;
      let storage: Storage | undefined;
      const connections: OutsideConnection[] = [];
      before(async function () {
        this.timeout(PREPARATION_LIMIT_MS);
        database = await kind.fresh();
        storage = await database.open();
      });
      after(async () => {
        await storage?.close();
        await database?.drop();
      });
      afterEach(() => Promise.all(connections.splice(0).map((connection) => connection.close())));
      suite({
        database: () => given(database),
        storage: () => given(storage),
        kind,
        async outside(role) {
          const connection = given(await given(database).outside?.(role));
          connections.push(connection);
          return connection;
        },
      });
    });
  }
}

function given<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('the suite has not started, or its database allows no second connection');
  return thing;
}
