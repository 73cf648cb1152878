/** Examines the keys that sign tokens and checkpoints: whether they can be loaded, and who can access their files. */

import { type Examination, type Finding, failed, ok, skipped, summarizeList, warning } from './examine.ts';

export type LoadedKeys =
  | { readonly kind: 'loaded'; readonly kids: readonly string[]; readonly active: string }
  /** No key is configured: a development host generates one at each start. */
  | { readonly kind: 'ephemeral' }
  /** The reasons are sentences that repeat no configured value. */
  | { readonly kind: 'unusable'; readonly reasons: readonly string[] };

export interface KeyFile {
  /** The setting that names the file. */
  readonly setting: string;
  /** What other users than its owner and group may do with the file. */
  readonly exposure: 'none' | 'readable' | 'writable';
}

export function signingExaminations(
  keys: () => Promise<LoadedKeys>,
  files: () => Promise<readonly KeyFile[]>,
): readonly Examination[] {
  return [
    { check: 'signing keys', examine: async () => describeKeys(await keys()) },
    { check: 'signing key files', examine: async () => judgeFiles(await files()) },
  ];
}

function describeKeys(keys: LoadedKeys): Finding {
  switch (keys.kind) {
    case 'loaded':
      return ok(
        `${keys.active} signs; ${keys.kids.length === 1 ? 'it is the only one' : `published are ${summarizeList(keys.kids)}`}.`,
      );
    case 'ephemeral':
      return warning(
        'There is no signing key: this development host generates one at each start.',
        'Make one with `mandate keys generate`.',
      );
    case 'unusable':
      return failed(keys.reasons.join(' '), 'Name a usable key; `mandate keys generate` makes one.');
  }
}

function judgeFiles(files: readonly KeyFile[]): Finding {
  const exposed = files.filter(({ exposure }) => exposure !== 'none');
  if (files.length === 0) return skipped('No signing key is in a file that can be looked at.');
  if (exposed.length === 0) return ok('Only their owner and its group can read the key files.');
  const described = exposed.map(
    ({ setting, exposure }) => `${setting} (${exposure === 'readable' ? 'read' : 'written'} by others)`,
  );
  return warning(
    `Other users can access key files: ${summarizeList(described)}.`,
    'Take the permissions away (chmod 600), and change the key if another user may have read it: `mandate keys rotate`.',
  );
}
