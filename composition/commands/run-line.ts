/** Parses the command line and runs the named command. */

import type { Command } from '../../adapters/cli/command.ts';
import { runCli } from '../../adapters/cli/run-cli.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';

/**
 * The commands in the order of the help. Each file has the options, the help and the code of its command. It is loaded
 * if the line has the command's name, or no command's name.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  'after-restore': async () => (await import('./after-restore.ts')).afterRestoreCommand(),
  agent: async () => (await import('./agent.ts')).agentCommand(),
  stop: async () => (await import('./stop.ts')).stopCommand(),
  block: async () => (await import('./block.ts')).blockCommand(),
  unblock: async () => (await import('./unblock.ts')).unblockCommand(),
  'audit-verify': async () => (await import('./audit-verify.ts')).auditVerifyCommand(),
  'audit-archive': async () => (await import('./audit-archive.ts')).auditArchiveCommand(),
  'audit-bundle': async () => (await import('./audit-bundle.ts')).auditBundleCommand(),
  'audit-export': async () => (await import('./audit-export.ts')).auditExportCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  log: async () => (await import('./log.ts')).logCommand(),
  keys: async () => (await import('./keys.ts')).keysCommand(),
  witness: async () => (await import('./witness.ts')).witnessCommand(),
};

/** @returns the exit code, after the command has ended */
export async function runLine(argv: readonly string[]): Promise<number> {
  const named = Object.keys(COMMANDS).filter((name) => argv.includes(name));
  const loaded = (named.length === 0 ? Object.keys(COMMANDS) : named).map((name) => COMMANDS[name]?.() ?? []);
  return runCli(argv, (await Promise.all(loaded)).flat(), packageVersion());
}
