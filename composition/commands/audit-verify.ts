import type { VerifyRequest } from '../../adapters/cli/commands/audit-verify.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { progressBar } from '../../adapters/cli/progress-bar.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { NOT_INTACT, renderReport, type VerificationReport } from '../../adapters/cli/verification-report.ts';
import { sha256Bytes } from '../../adapters/platform/sha256.ts';
import { storedExport } from '../../adapters/platform/stored-export.ts';
import { eventLoopTurn } from '../../adapters/platform/timers.ts';
import { type LedgerVerification, verifyLedger } from '../../application/ledger/verify.ts';
import { verifyExport } from '../../application/ledger/verify-export.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { readSettingsSection } from '../settings/read-settings.ts';
import { auditorKeys } from './auditor-keys.ts';
import { openLedger } from './open-ledger.ts';
import { runCommand, settingSources, validSettings } from './run-command.ts';

/** Verifies the ledger or an export, and prints the result (specification "Ledger and seal"). */
export async function auditVerify(request: VerifyRequest, overrides: readonly SettingArgument[]): Promise<number> {
  return runCommand(
    async (log) => {
      const bar = progressBar(process.stderr, () => performance.now());
      const means = {
        hash: sha256Bytes,
        verifier: await auditorKeys(request.jwks, settingSources(overrides)),
        turn: eventLoopTurn,
        marks: request.marks,
        progress: process.stderr.isTTY ? bar.show : undefined,
      };
      try {
        const report =
          request.archive === undefined
            ? await ledgerReport(means, overrides, log)
            : await exportReport(request.archive, means);
        bar.clear();
        process.stdout.write(renderReport(report, request.json));
        return report.kind === 'broken' ? NOT_INTACT : exitCode.done;
      } finally {
        bar.clear();
      }
    },
    { log: process.stderr },
  );
}

type Means = Omit<LedgerVerification, 'ledger'>;

async function ledgerReport(
  means: Means,
  overrides: readonly SettingArgument[],
  log: Log,
): Promise<VerificationReport> {
  const settings = validSettings(readSettingsSection(settingSources(overrides), 'Service:Database'), undefined);
  const storage = await openLedger(settings, log);
  try {
    const outcome = await verifyLedger({ ...means, ledger: storage.checkpoints });
    if (outcome.kind === 'intact') return { ...outcome, kind: 'ledger' };
    const { fault, lastMark, counts } = outcome;
    const { checkpoints, records, archived } = counts;
    return { kind: 'broken', fault, verified: { checkpoints, records, archived, lastMark } };
  } finally {
    await storage.close();
  }
}

async function exportReport(path: string, means: Means): Promise<VerificationReport> {
  const verdict = await verifyExport(storedExport(path), means);
  if (verdict.kind === 'broken') {
    const { last, ...counts } = verdict.verified;
    return { kind: 'broken', fault: verdict.fault, verified: { ...counts, lastMark: last } };
  }
  const { header, first, last } = verdict;
  return { ...header, kind: 'export', firstCheckpoint: first?.checkpointId, lastMark: last };
}
