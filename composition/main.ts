#!/usr/bin/env node
/** `mandate`: the command line of the service. A command's own parts are loaded when it is the one that runs. */

import { auditArchiveCommand } from '../adapters/cli/commands/audit-archive.ts';
import { auditVerifyCommand } from '../adapters/cli/commands/audit-verify.ts';
import { migrateCommand } from '../adapters/cli/commands/migrate.ts';
import { serveCommand } from '../adapters/cli/commands/serve.ts';
import { runCli } from '../adapters/cli/run-cli.ts';

process.exitCode = await runCli(process.argv.slice(2), [
  serveCommand(async (settings) => (await import('./commands/serve.ts')).serve(settings)),
  migrateCommand(async (settings) => (await import('./commands/migrate.ts')).migrate(settings)),
  auditVerifyCommand(async (request, settings) =>
    (await import('./commands/audit-verify.ts')).auditVerify(request, settings),
  ),
  auditArchiveCommand(async (request, settings) =>
    (await import('./commands/audit-archive.ts')).auditArchive(request, settings),
  ),
]);
