/** `mandate audit-verify --archive`: an export alone, with the keys that the auditor believes. Opens no database. */

import type { KeySource } from '../../../adapters/cli/argument.ts';
import type { SettingArgument } from '../../../adapters/cli/setting-arguments.ts';
import { renderExportReport } from '../../../adapters/cli/verification-report.ts';
import { storedExport } from '../../../adapters/platform/export-folder.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { verifyExport } from '../../../application/ledger/verify-export.ts';
import type { Mark } from '../../../domain/ledger/checkpoint.ts';
import { auditorKeys, sealingInterval } from '../audit-sources.ts';
import { processSettings } from '../run-command.ts';
import { type Verdict, withProgress } from './verdict.ts';

export interface ExportRequest {
  /** The file. */
  readonly archive: string;
  readonly marks: readonly Mark[];
  /** `undefined`: the configured keys. */
  readonly jwks: KeySource | undefined;
}

/** @throws StartupError, ExportUnusable */
export async function verifyExportFile(
  { archive, marks, jwks }: ExportRequest,
  json: boolean,
  overrides: readonly SettingArgument[],
): Promise<Verdict> {
  const settings = processSettings(overrides);
  const verifier = await auditorKeys(jwks, settings);
  const interval = sealingInterval(settings);
  const verdict = await withProgress((progress) =>
    verifyExport(storedExport(archive), { hash: sha256Bytes, verifier, marks, interval, progress }),
  );
  return { isIntact: verdict.kind === 'intact', text: renderExportReport(verdict, json) };
}
