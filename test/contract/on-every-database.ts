/** Runs a suite on each database, on a fresh one of its own that its cases share. */

import type { Storage } from '../../adapters/persistence/storage.ts';
import { everyDatabase, type FreshDatabase, type TestDatabase } from '../support/databases.ts';

export interface Stage {
  readonly database: () => FreshDatabase;
  readonly storage: () => Storage;
  readonly kind: TestDatabase;
}

/** Starting Postgres, once in a run, and applying the schema may take longer than a test may. */
const PREPARATION_LIMIT_MS = 120_000;

export function onEveryDatabase(
  title: string,
  suite: (stage: Stage) => void,
  kinds: readonly TestDatabase[] = everyDatabase,
): void {
  for (const kind of kinds) {
    describe(`${title} on ${kind.name}`, () => {
      let database: FreshDatabase | undefined;
      let storage: Storage | undefined;
      before(async function () {
        this.timeout(PREPARATION_LIMIT_MS);
        database = await kind.fresh();
        storage = await database.open();
      });
      after(async () => {
        await storage?.close();
        await database?.drop();
      });
      suite({ database: () => given(database), storage: () => given(storage), kind });
    });
  }
}

function given<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error('asked for before the suite started');
  return thing;
}
