/** What is held against each other after a run: every answer that clients got, and every record there is. */

import type { Kept } from '../load/kept.ts';

export interface LedgerLine {
  readonly seq: number;
  /** Null until it is sealed. */
  readonly checkpoint: number | null;
  readonly event: string;
  readonly reason: string | null;
  readonly task_id: string | null;
  readonly agent_id: string | null;
  readonly sponsor: string | null;
  readonly jti: string | null;
  readonly count?: number;
}

export interface Evidence {
  readonly kept: readonly Kept[];
  readonly lines: readonly LedgerLine[];
  /** Registered before anything was kept. */
  readonly agents: readonly string[];
}

/** A sentence for each answer that the ledger, or the service afterwards, does not bear out. */
export type Losses = readonly string[];

export function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string | null | undefined) {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (typeof key !== 'string') continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return (key: string | undefined): readonly Item[] => (key === undefined ? [] : (groups.get(key) ?? []));
}
