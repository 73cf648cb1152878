/** What the driver makes of a connection string (libpq's form) before it connects to anything. */

import pg from 'pg';

/** Whether the files that it names, of certificates and keys (`sslrootcert`, `sslcert`, `sslkey`), can be read. */
export function hasReadableFiles(connectionString: string): boolean {
  try {
    // The driver reads them whenever it is about to connect.
    new pg.Client({ connectionString });
    return true;
  } catch {
    return false;
  }
}
