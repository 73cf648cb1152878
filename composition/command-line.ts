/** The command line of the service. The code of a command is loaded only when it runs. */

import { agentCommand } from '../adapters/cli/commands/agent.ts';
import { auditArchiveCommand } from '../adapters/cli/commands/audit-archive.ts';
import { auditVerifyCommand } from '../adapters/cli/commands/audit-verify.ts';
import { doctorCommand } from '../adapters/cli/commands/doctor.ts';
import { keysCommand } from '../adapters/cli/commands/keys.ts';
import { migrateCommand } from '../adapters/cli/commands/migrate.ts';
import { serveCommand } from '../adapters/cli/commands/serve.ts';
import { runCli } from '../adapters/cli/run-cli.ts';

process.exitCode = await runCli(process.argv.slice(2), [
  serveCommand(async (settings) => (await import('./commands/serve.ts')).serve(settings)),
  migrateCommand(async (settings) => (await import('./commands/migrate.ts')).migrate(settings)),
  agentCommand({
    init: async (request) => (await import('./commands/agent-init.ts')).agentInit(request),
    apply: async (request, settings) => (await import('./commands/agent-apply.ts')).agentApply(request, settings),
  }),
  auditVerifyCommand(async (request, settings) =>
    (await import('./commands/audit-verify.ts')).auditVerify(request, settings),
  ),
  auditArchiveCommand(async (request, settings) =>
    (await import('./commands/audit-archive.ts')).auditArchive(request, settings),
  ),
  doctorCommand(async (request, settings) => (await import('./commands/doctor.ts')).doctor(request, settings)),
  keysCommand({
    generate: async (request, settings) =>
      (await import('./commands/keys-generate.ts')).keysGenerate(request, settings),
    rotate: async (request, settings) => (await import('./commands/keys-rotate.ts')).keysRotate(request, settings),
    show: async (request, settings) => (await import('./commands/keys-show.ts')).keysShow(request, settings),
  }),
]);
