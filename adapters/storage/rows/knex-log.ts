/** Keeps Knex from writing to standard output, which holds the service's log. */

import type { Knex } from 'knex';

/** Every error of Knex is also thrown. */
export const silentKnex: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};
