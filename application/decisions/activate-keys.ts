/** Records which keys sign checkpoints and the notes of the transparency log, so that a seal stays verifiable later. */

import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { LogKey } from '../../domain/log/log-key.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';

interface KeyActivation {
  /** The keys that sign from now on, one of each use. */
  readonly active: readonly Omit<LogKey, 'from' | 'to'>[];
  /** Keys that signed checkpoints while the log was off, the active one included. Known ones are ignored. */
  readonly earlier: readonly LogKey[];
  readonly at: Instant;
}

/** Writes `key.activated` and `key.retired` if another key signs than before, and nothing otherwise. */
export const activateKeys = decision({
  name: 'activate_keys',
  transaction: 'own',

  locks: (_: KeyActivation) => [exclusive('log_keys', '')],

  asks: () => ({ checkpoint: ask('log_keys', 'checkpoint'), log: ask('log_keys', 'log') }),

  judge: ({ active, earlier, at }, known): Judgement<undefined> => {
    const keys: LogKey[] = [];
    const entries: LedgerEntry[] = [];
    const put = (key: LogKey) => {
      const event = key.to === undefined ? 'key.activated' : 'key.retired';
      keys.push(key);
      entries.push({ at, event, decision: 'allow', reason: `${key.use}_key`, detail: key.thumbprint });
    };
    const before = earlier.filter((key) => !known.checkpoint.some((used) => isSame(used, key)));
    for (const key of before) if (!active.some((signs) => isSame(signs, key))) put({ ...key, to: key.to ?? at });
    for (const key of active) {
      const signing = known[key.use].filter(({ to }) => to === undefined);
      if (signing.some((signs) => isSame(signs, key))) continue;
      for (const other of signing) put({ ...other, to: at });
      const from = [...known[key.use], ...before].find((used) => isSame(used, key))?.from ?? at;
      put({ ...key, from, to: undefined });
    }
    return {
      verdict: undefined,
      effects: [...keys.map((key) => ({ effect: 'put_log_key', ...key }) as const), ...recorded(entries)],
    };
  },
});

type KeyName = Pick<LogKey, 'use' | 'kid' | 'thumbprint'>;

function isSame(one: KeyName, other: KeyName): boolean {
  return one.use === other.use && one.kid === other.kid && one.thumbprint === other.thumbprint;
}
