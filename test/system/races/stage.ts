/** What the suites of races share: replicas of one kind, and how often each race is run on them. */

import type { TestDatabase } from '../../support/databases.ts';
import type { LedgerLine, RegisteredAgent } from '../../support/mandate.ts';
import { inWaves } from '../../support/replicas/meetings.ts';
import type { Replicas } from '../../support/replicas/replicas.ts';

export interface Stage {
  readonly kind: TestDatabase;
  readonly rounds: number;
  readonly replicas: () => Replicas;
  /** One that many act through. */
  readonly agent: () => RegisteredAgent;
}

export interface Played<Round> {
  readonly rounds: readonly Round[];
  /** What the ledger says of all of them, in its order. */
  readonly ledger: readonly LedgerLine[];
}

/** @param prepare answers what starts the round of that number */
export async function play<Round>(
  { kind, replicas }: Stage,
  rounds: number,
  prepare: (nth: number) => Promise<() => Promise<Round>>,
): Promise<Played<Round>> {
  const { recorded, outside } = replicas();
  let played: readonly Round[] = [];
  const ledger = await recorded(async () => {
    played = await inWaves({ kind, outside }, rounds, prepare);
  });
  return { rounds: played, ledger };
}
