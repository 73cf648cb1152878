/**
 * Parses the command line and runs the named command. The list has the name and a summary of each command. Its file is
 * loaded when the line names it, and has its options, its help and its code. Commands with subcommands have a folder
 * too, and `audit-verify` has one for its kinds of verification. run-command.ts reads the settings for all of them, and
 * reports expected errors. audit-sources.ts opens the keys and the ledger for auditors' commands.
 */

import type { NamedCommand } from '../../adapters/cli/command.ts';
import { runCli } from '../../adapters/cli/run-cli.ts';
import { nearest } from '../../adapters/platform/nearest.ts';
import { packageVersion } from '../../adapters/platform/package-version.ts';

/** In the order of the help. */
export const COMMANDS: readonly NamedCommand[] = [
  {
    usage: 'serve',
    summary: 'Run the service until a signal stops it (the default without a command)',
    page: 'docs/configuration.md',
    load: async () => (await import('./serve.ts')).serveCommand(),
  },
  {
    usage: 'migrate',
    summary: 'Create the schema in the database, or bring it up to date',
    page: 'docs/deploying.md',
    load: async () => (await import('./migrate.ts')).migrateCommand(),
  },
  {
    usage: 'after-restore',
    summary: 'After a restored backup or a failover that lost commits: move the ledger on, refuse earlier assertions',
    page: 'docs/operating.md#the-database-went-back-in-time',
    load: async () => (await import('./after-restore.ts')).afterRestoreCommand(),
  },
  {
    usage: 'agent',
    summary: 'Declare the registrations of agents in files, and disable agents',
    page: 'docs/agents-as-files.md',
    load: async () => (await import('./agent.ts')).agentCommand(),
  },
  {
    usage: 'stop',
    summary: "End tasks of a running service: one, an agent's, a person's, or all tasks",
    page: 'docs/operating.md#stopping-an-agent-a-person-a-task',
    load: async () => (await import('./stop.ts')).stopCommand(),
  },
  {
    usage: 'block <person>',
    summary: 'Block a person at a running service: their tasks end, and no agent can act for them',
    page: 'docs/operating.md#stopping-an-agent-a-person-a-task',
    load: async () => (await import('./block.ts')).blockCommand(),
  },
  {
    usage: 'unblock <person>',
    summary: "Lift the operator's block of a person at a running service",
    page: 'docs/operating.md#stopping-an-agent-a-person-a-task',
    load: async () => (await import('./unblock.ts')).unblockCommand(),
  },
  {
    usage: 'audit-verify [marks]',
    summary: 'Verify the seal of the ledger, of an export, or of an evidence bundle',
    page: 'docs/auditing.md#verifying',
    load: async () => (await import('./audit-verify.ts')).auditVerifyCommand(),
  },
  {
    usage: 'audit-archive',
    summary: 'Export whole months of the ledger and drop them (Postgres)',
    page: 'docs/auditing.md#archives',
    load: async () => (await import('./audit-archive.ts')).auditArchiveCommand(),
  },
  {
    usage: 'audit-bundle',
    summary: 'Write records with their proofs and keys as one document, which verifies offline',
    page: 'docs/auditing.md#evidence',
    load: async () => (await import('./audit-bundle.ts')).auditBundleCommand(),
  },
  {
    usage: 'audit-export',
    summary: 'Write the sealed records as events for a SIEM, one JSON object a line',
    page: 'docs/observability.md#records-as-events-for-a-siem',
    load: async () => (await import('./audit-export.ts')).auditExportCommand(),
  },
  {
    usage: 'doctor',
    summary: 'Check every dependency of the service, and say how to repair what fails',
    page: 'docs/operating.md',
    load: async () => (await import('./doctor.ts')).doctorCommand(),
  },
  {
    usage: 'log',
    summary: 'The transparency log',
    page: 'docs/log.md',
    load: async () => (await import('./log.ts')).logCommand(),
  },
  {
    usage: 'keys',
    summary: 'Generate, rotate, show and retire the signing keys',
    page: 'docs/operating.md#rotating-the-signing-key',
    load: async () => (await import('./keys.ts')).keysCommand(),
  },
  {
    usage: 'witness',
    summary: 'Watch the logs of others, and cosign their checkpoints',
    page: 'docs/witnesses.md',
    load: async () => (await import('./witness.ts')).witnessCommand(),
  },
  {
    usage: 'guard',
    summary: 'Decide about the requests of a service in any language, without a database',
    page: 'docs/guard.md',
    load: async () => (await import('./guard.ts')).guardCommand(),
  },
];

/** @returns the exit code, after the command has ended */
export function runLine(argv: readonly string[]): Promise<number> {
  return runCli(argv, { commands: COMMANDS, version: packageVersion(), page: 'docs/README.md', nearest });
}
