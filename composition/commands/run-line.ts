/** Parses the command line and runs the named command. The code of a command is loaded only when it runs. */

import { commandGroup } from '../../adapters/cli/command.ts';
import { afterRestoreCommand } from '../../adapters/cli/commands/after-restore.ts';
import { agentApplyCommand } from '../../adapters/cli/commands/agent-apply.ts';
import { agentInitCommand } from '../../adapters/cli/commands/agent-init.ts';
import { auditArchiveCommand } from '../../adapters/cli/commands/audit-archive.ts';
import { auditBundleCommand } from '../../adapters/cli/commands/audit-bundle.ts';
import { auditExportCommand } from '../../adapters/cli/commands/audit-export.ts';
import { auditVerifyCommand } from '../../adapters/cli/commands/audit-verify.ts';
import { doctorCommand } from '../../adapters/cli/commands/doctor.ts';
import { keysCommand } from '../../adapters/cli/commands/keys.ts';
import { logCommand } from '../../adapters/cli/commands/log.ts';
import { migrateCommand } from '../../adapters/cli/commands/migrate.ts';
import { serveCommand } from '../../adapters/cli/commands/serve.ts';
import { witnessCommand } from '../../adapters/cli/commands/witness.ts';
import { runCli } from '../../adapters/cli/run-cli.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';

/** @returns the exit code, after the command has ended */
export function runLine(argv: readonly string[]): Promise<number> {
  const commands = [
    serveCommand(async (settings) => (await import('./serve.ts')).serve(settings)),
    migrateCommand(async (settings) => (await import('./migrate.ts')).migrate(settings)),
    afterRestoreCommand(async (request, settings) =>
      (await import('./after-restore.ts')).afterRestore(request, settings),
    ),
    commandGroup('agent', 'Declare the registrations of agents in files', [
      agentInitCommand(async (request) => (await import('./agent.ts')).agentInit(request)),
      agentApplyCommand(async (request, settings) => (await import('./agent.ts')).agentApply(request, settings)),
    ]),
    auditVerifyCommand(async (request, settings) => (await import('./audit.ts')).auditVerify(request, settings)),
    auditArchiveCommand(async (request, settings) => (await import('./audit.ts')).auditArchive(request, settings)),
    auditBundleCommand(async (request, settings) => (await import('./audit-bundle.ts')).auditBundle(request, settings)),
    auditExportCommand(async (request, settings) => (await import('./audit-export.ts')).auditExport(request, settings)),
    doctorCommand(async (request, settings) => (await import('./doctor.ts')).doctor(request, settings)),
    logCommand({ adoptOrigin: async (settings) => (await import('./log.ts')).logAdoptOrigin(settings) }),
    keysCommand({
      generate: async (request, settings) => (await import('./keys.ts')).keysGenerate(request, settings),
      rotate: async (request, settings) => (await import('./keys.ts')).keysRotate(request, settings),
      show: async (request, settings) => (await import('./keys.ts')).keysShow(request, settings),
      retire: async (request, settings) => (await import('./keys.ts')).keysRetire(request, settings),
    }),
    witnessCommand({
      init: async (request) => (await import('./witness.ts')).witnessInit(request),
      serve: async (request) => (await import('./witness.ts')).witnessServe(request),
      acceptClock: async (request) => (await import('./witness.ts')).witnessAcceptClock(request),
    }),
  ];
  return runCli(argv, commands, packageVersion());
}
