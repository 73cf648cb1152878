/** Defaults that depend on other settings or on the machine: one for each setting the catalogue calls `computed`. */

import { isDevelopmentHost } from './development-host.ts';
import type { ComputedKey, Settings } from './settings.ts';

export interface ComputedDefault<Value> {
  /** The settings it is computed from; unless all of them can be read, it is not. Plain defaults are there by then. */
  readonly from: readonly (keyof Settings)[];
  compute(settings: Settings): Value;
}

export const computedDefaults: { readonly [Key in ComputedKey]: ComputedDefault<Settings[Key]> } = {
  HOST: {
    from: ['NODE_ENV'],
    compute: (settings) => (isDevelopmentHost(settings) ? '127.0.0.1' : '0.0.0.0'),
  },
};
