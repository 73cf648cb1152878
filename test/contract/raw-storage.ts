/** Applies single effects and reads single facts, with the code that runs decisions on each engine. */

import { queryPorts } from '../../adapters/storage/queries/ports.ts';
import { sqliteAsk, sqliteChange } from '../../adapters/storage/sqlite/ask.ts';
import { sqliteCheckpoints } from '../../adapters/storage/sqlite/checkpoints.ts';
import { openConnection } from '../../adapters/storage/sqlite/connection.ts';
import { sqliteDecisions } from '../../adapters/storage/sqlite/decide.ts';
import { sqliteLedger } from '../../adapters/storage/sqlite/ledger.ts';
import { migrateSqlite } from '../../adapters/storage/sqlite/migrate.ts';
import { decision } from '../../application/decisions/decision.ts';
import type { Effect } from '../../application/decisions/effect.ts';
import { type About, type Answer, ask, type FactName, type Question } from '../../application/decisions/fact.ts';
import type { Storage } from '../support/storage.ts';
import type { SuiteDatabase } from './on-every-database.ts';

export interface RawStorage
  extends Pick<
    Storage,
    'sessions' | 'statusLists' | 'operatorActs' | 'approvals' | 'authorizations' | 'approvalNotices' | 'checkpoints'
  > {
  readonly sponsors: Pick<Storage['sponsors'], 'findBlocks' | 'pendingLift' | 'delegationRefusals'>;
  readonly agents: Pick<Storage['agents'], 'find'>;
  readonly tasks: Pick<
    Storage['tasks'],
    'findGrant' | 'findListed' | 'ofSponsor' | 'liveOfSponsor' | 'endedOfSponsor' | 'ofSponsorById' | 'tokenFacts'
  >;
  readonly provisionedUsers: Pick<Storage['provisionedUsers'], 'find'>;
  readonly ledger: Pick<Storage['ledger'], 'settledThrough'>;
  apply(...effects: readonly Effect[]): Promise<unknown>;
  read<Name extends FactName>(fact: Name, about: About<Name>): Promise<Answer<Name>>;
  close(): Promise<void>;
}

const applying = decision({
  name: 'apply',
  transaction: 'own',
  locks: () => [],
  asks: () => ({}),
  judge: (effects: readonly Effect[]) => ({ verdict: undefined, effects }),
});

const asking = decision({
  name: 'ask',
  transaction: 'own',
  locks: () => [],
  asks: (question: Question) => ({ question }),
  judge: (_, facts: { readonly question: unknown }) => ({ verdict: facts.question, effects: [] }),
});

/** On SQLite it is another connection than that of the suite; in memory, another database. */
export async function rawStorage({ database, storage, kind }: SuiteDatabase): Promise<RawStorage> {
  const ports =
    kind.engine === 'postgres' ? { ...storage(), close: async () => undefined } : await onSqlite(database());
  return {
    ...ports,
    apply: (...effects) => ports.decide(applying, effects),
    read: async (fact, about) => (await ports.decide(asking, ask(fact, about) as never)) as never,
  };
}

async function onSqlite({ settings }: ReturnType<SuiteDatabase['database']>) {
  const path = settings['Service:Database:Path'];
  const connection = await openConnection(path ?? ':memory:');
  if (path === undefined) await migrateSqlite(connection);
  return {
    ...queryPorts(sqliteAsk(connection), sqliteChange(connection)),
    ...sqliteDecisions(connection),
    ledger: sqliteLedger(connection),
    checkpoints: sqliteCheckpoints(connection),
    close: connection.close,
  };
}
