/** `mandate audit-verify --bundle`: an evidence bundle alone. Reads no setting, and uses no network. */

import { renderBundleReport } from '../../../adapters/cli/bundle-report.ts';
import { type BundleVerdict, bundleReader } from '../../../adapters/sdk/audit/bundle.ts';
import { utf8Reader } from '../../../domain/tokens/strict-utf8.ts';
import { bytesOf, policyOfFile } from '../audit-sources.ts';
import type { Verdict } from './verdict.ts';

export interface BundleRequest {
  /** The file. */
  readonly bundle: string;
  /** The file of the policy that it must meet. */
  readonly policy: string | undefined;
}

/** @throws StartupError */
export async function verifyBundleFile({ bundle, policy }: BundleRequest, json: boolean): Promise<Verdict> {
  const demands = policy === undefined ? undefined : (await policyOfFile(policy)).text;
  const verdict = await verdictOn(bundle, demands);
  return { isIntact: verdict.verified, text: renderBundleReport(verdict, demands !== undefined, json) };
}

async function verdictOn(path: string, policy: string | undefined): Promise<BundleVerdict> {
  const bundle = bundleReader({ policy });
  const read = utf8Reader();
  for await (const bytes of bytesOf(path, '--bundle')) {
    const text = read(bytes);
    const refuted = text === undefined ? NOT_UTF8 : bundle.take(text);
    if (refuted !== undefined) return refuted;
  }
  // The last character may be cut off.
  return read() === undefined ? NOT_UTF8 : bundle.end();
}

const NOT_UTF8: BundleVerdict = {
  verified: false,
  fault: 'malformed',
  line: undefined,
  message: 'The text of the file is not UTF-8.',
};
