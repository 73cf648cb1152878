/** The replicas of a race, and the number of its rounds. */

import type { TestDatabase } from '../../support/databases.ts';
import type { LedgerLine, RegisteredAgent } from '../../support/mandate.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';
import { inBatches } from '../../support/replicas/request-pairs.ts';

/** Starting Postgres and the processes takes longer than the time limit of a test. */
export const PREPARATION_LIMIT_MS = 120_000;

export interface RaceSetup {
  readonly kind: TestDatabase;
  readonly rounds: number;
  readonly replicas: () => Replicas;
  /** An agent that many rounds share. */
  readonly agent: () => RegisteredAgent;
}

export interface RaceRounds<Round> {
  readonly rounds: readonly Round[];
  /** The records of all rounds, in the order of the ledger. */
  readonly ledger: readonly LedgerLine[];
}

/** @param prepare resolves with a function that starts the round of this number */
export async function runRounds<Round>(
  { kind, replicas }: RaceSetup,
  rounds: number,
  prepare: (nth: number) => Promise<() => Promise<Round>>,
): Promise<RaceRounds<Round>> {
  const { recorded, outside } = replicas();
  let played: readonly Round[] = [];
  const ledger = await recorded(async () => {
    played = await inBatches({ kind, outside }, rounds, prepare);
  });
  return { rounds: played, ledger };
}
