/** Where Knex says what it has to say: it would otherwise write to standard output, which belongs to our own log. */

import type { Knex } from 'knex';
import type { Log } from '../../../application/ports/telemetry.ts';

export function knexLog(log: Log): Knex.Logger {
  const tell = (detail: unknown) => log.warn('database connection', { detail: String(detail) });
  return {
    warn: (message) => {
      // It is thrown as well, to whoever asked for the connection, and is logged there.
      if (!String(message).startsWith('Acquire connection error')) tell(message);
    },
    error: tell,
    deprecate: tell,
    debug: () => undefined,
  };
}

/** For where everything that goes wrong is thrown. */
export const silentKnex: Knex.Logger = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};
