/** The console's verify.js, imported as the module that it is, with the parts of the seal that it does not export. */

import { readFileSync } from 'node:fs';

const url = new URL('../../../adapters/http/console/assets/verify.js', import.meta.url);
export const verifyText = readFileSync(url, 'utf8');

/** The lines that verify.js and docs/verify-evidence.html have in common. */
export function sealIn(text: string): string | undefined {
  return /^\/\/ The seal:.*?^\/\/ The end of the seal\.$/ms.exec(text)?.[0];
}

interface ModuleVerdict {
  readonly verified: boolean;
  readonly fault?: string;
  readonly message?: string;
  readonly mark?: string;
}

type Keys = ReadonlyMap<string, readonly unknown[]>;

interface CheckpointOptions {
  readonly after?: unknown;
  readonly marks?: readonly { readonly id: number; readonly root: string }[];
  readonly more?: boolean;
}

interface VerifyModule {
  readKeys(pasted: string): Promise<Keys>;
  readMarks(pasted: string): readonly { readonly id: number; readonly root: string }[];
  verifyRecord(record: unknown, proof: unknown, keys: Keys): Promise<ModuleVerdict>;
  verifyCheckpoints(
    checkpoints: readonly unknown[],
    keys: Keys,
    options?: CheckpointOptions,
  ): Promise<ModuleVerdict & { readonly checkpoints?: number }>;
  canonical(object: object): string;
  leafOf(bytes: Uint8Array): Promise<Uint8Array>;
  rootOf(leaf: Uint8Array, index: number, size: number, path: readonly string[]): Promise<string | undefined>;
}

/** It does nothing else here: there is no document. */
export const verifyModule = (await import(
  `data:text/javascript,${encodeURIComponent(`${verifyText}\nexport { canonical, leafOf, rootOf };`)}`
)) as VerifyModule;
