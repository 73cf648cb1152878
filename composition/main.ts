#!/usr/bin/env node
/** `mandate`: the command line of the service. */

import { migrateCommand } from '../adapters/cli/commands/migrate.ts';
import { serveCommand } from '../adapters/cli/commands/serve.ts';
import { runCli } from '../adapters/cli/run-cli.ts';
import { migrate, serve } from './commands.ts';

process.exitCode = await runCli(process.argv.slice(2), [serveCommand(serve), migrateCommand(migrate)]);
