/**
 * Runs a suite on a SQLite file and on Postgres, on a fresh database that its cases share. SQLite in memory is the same
 * code as a SQLite file with another path: one suite of each kind runs on it too (`everyDatabase`), as a smoke test.
 */

import { databases, type FreshDatabase, type Outside, type Role, type TestDatabase } from '../support/databases.ts';
import type { Storage } from '../support/storage.ts';

export interface Stage {
  readonly database: () => FreshDatabase;
  readonly storage: () => Storage;
  readonly kind: TestDatabase;
  /** A connection beside the service, closed after the test. */
  outside(role?: Role): Promise<Outside>;
}

/** The start of Postgres, once in a run, and the schema may take longer than a test. */
const PREPARATION_LIMIT_MS = 120_000;

export function onEveryDatabase(
  title: string,
  suite: (stage: Stage) => void,
  kinds: readonly TestDatabase[] = databases,
): void {
  for (const kind of kinds) {
    describe(`${title} on ${kind.name}`, () => {
      let database: FreshDatabase | undefined;
      let storage: Storage | undefined;
      const connections: Outside[] = [];
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
  if (thing === undefined) throw new Error('not there: the suite has not started, or its database has no outside');
  return thing;
}
