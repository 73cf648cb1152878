/** Defaults that depend on other settings or on the machine: one for each setting the catalogue calls `computed`. */

import { availableParallelism } from 'node:os';
import type { ComputedKey, Settings } from './settings.ts';

/** Decisions "Names and identifiers": `NODE_ENV=development`; anything else is not a development host. */
export function isDevelopmentHost(settings: Pick<Settings, 'NODE_ENV'>): boolean {
  return settings.NODE_ENV === 'development';
}

export interface ComputedDefault<Value> {
  /**
   * The settings that the default is computed from, after plain defaults are applied. If one is unreadable, the default
   * is not computed.
   */
  readonly from: readonly (keyof Settings)[];
  compute(settings: Settings): Value;
}

/** Specification "Overload". */
const CONCURRENCY_PER_CORE = 16;
const QUEUED_PER_TURN = 4;

export const computedDefaults: { readonly [Key in ComputedKey]: ComputedDefault<Settings[Key]> } = {
  HOST: {
    from: ['NODE_ENV'],
    compute: (settings) => (isDevelopmentHost(settings) ? '127.0.0.1' : '0.0.0.0'),
  },
  'Service:Overload:ConcurrencyLimit': {
    from: [],
    compute: () => CONCURRENCY_PER_CORE * availableParallelism(),
  },
  'Service:Overload:QueueLimit': {
    from: ['Service:Overload:ConcurrencyLimit'],
    compute: (settings) => QUEUED_PER_TURN * settings['Service:Overload:ConcurrencyLimit'],
  },
};
