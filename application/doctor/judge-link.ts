/** Whether somebody between this service and its database could read or answer in its place. */

import type { DatabaseLink } from '../ports/storage-condition.ts';
import { type Finding, ok, skipped, warning } from './finding.ts';

const VERIFY =
  'Add sslmode=verify-full to the address in Service:Database:ConnectionString, and to the one for migrations, unless nobody else is on the network between.';

export function judgeLink(link: DatabaseLink | undefined): Finding {
  switch (link) {
    case undefined:
      return skipped('This database is a file.');
    case 'local':
      return ok('The database is on this machine.');
    case 'verified':
      return ok('What is sent to the database is encrypted, and its certificate is checked.');
    case 'unverified':
      return warning('What is sent to the database is encrypted, but for whoever answers there.', VERIFY);
    case 'plain':
      return warning(
        'What is sent to the database is not encrypted: others on the way can read and change it.',
        VERIFY,
      );
  }
}
