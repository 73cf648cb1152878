/** Finds the faults of a connection string with which no connection can succeed, without connecting. */

import pg from 'pg';
import { type ConnectionStringFault, readConnectionString } from './connection-string.ts';

export type ConnectionFault =
  | ConnectionStringFault
  /** A certificate or key file (`sslrootcert`, `sslcert`, `sslkey`) cannot be read, or there is another fault. */
  | { readonly problem: 'unreadable_file' | 'unusable' };

export function connectionFaults(connectionString: string): readonly ConnectionFault[] {
  const read = readConnectionString(connectionString);
  if (read === undefined) return [{ problem: 'unusable' }];
  return [...read.faults, ...driverFaults(read.hosts[0])];
}

/** The URIs of all hosts have the same parameters, so one is enough. */
function driverFaults(connectionString: string): readonly ConnectionFault[] {
  try {
    // The constructor parses the string and reads its files.
    new pg.Client({ connectionString });
    return [];
  } catch (error) {
    return [{ problem: error instanceof Error && 'syscall' in error ? 'unreadable_file' : 'unusable' }];
  }
}
