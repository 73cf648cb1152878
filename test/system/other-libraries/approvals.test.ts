/** A tool server that asks for approvals with jose alone. */

import { databasesByLength } from '../../support/databases.ts';
import { deletesPagesAfterApprovals } from '../../support/tool-server/page-deletions.ts';

for (const database of databasesByLength) {
  describe(`A tool server of jose alone, with the real service on ${database.name},`, function () {
    this.timeout(60_000);
    deletesPagesAfterApprovals('approvals-jose-tool-server.ts', database);
  });
}
