/** A tool server in Python that asks for approvals, with Debian's jwcrypto. */

import { sqliteFile } from '../../support/databases.ts';
import { pythonPlace } from '../../support/example-process.ts';
import { languages } from '../../support/other-languages/languages.ts';
import { deletesPagesAfterApprovals } from '../../support/tool-server/page-deletions.ts';

describe('A tool server in Python, with the real service,', function () {
  this.timeout(60_000);
  if (languages.py.has(['jwcrypto'])) {
    deletesPagesAfterApprovals('approvals_tool_server.py', sqliteFile, pythonPlace);
    return;
  }
  it("is skipped: Debian's package python3-jwcrypto is not installed", function () {
    this.skip();
  });
});
