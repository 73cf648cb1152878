/** What the driver makes of a connection string (libpq's form) before it connects to anything. */

import pg from 'pg';

/** A file of certificates or keys that it names (`sslrootcert`, `sslcert`, `sslkey`), or something else of it. */
export type ConnectionStringFault = 'unreadable_file' | 'unusable';

/** @returns `undefined` where the driver could connect with it, whether or not somebody is there */
export function connectionStringFault(connectionString: string): ConnectionStringFault | undefined {
  try {
    // It is read, and the files are, whenever a client is made; a client that is not told to does not connect.
    new pg.Client({ connectionString });
    return undefined;
  } catch (error) {
    return error instanceof Error && 'syscall' in error ? 'unreadable_file' : 'unusable';
  }
}
