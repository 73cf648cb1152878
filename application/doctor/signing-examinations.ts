/** Whether the keys that sign tokens and checkpoints can be used, and by nobody else. */

import { type Examination, type Finding, failed, ok, skipped, warning } from './finding.ts';
import { listed } from './listed.ts';

export type LoadedKeys =
  | { readonly kind: 'loaded'; readonly kids: readonly string[]; readonly active: string }
  /** A development host makes one up for as long as it runs. */
  | { readonly kind: 'ephemeral' }
  /** Sentences that repeat no value. */
  | { readonly kind: 'unusable'; readonly reasons: readonly string[] };

/** Who but its owner gets at a key's file. */
export interface KeyFile {
  /** The setting that names it. */
  readonly setting: string;
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
        `${keys.active} signs; ${keys.kids.length === 1 ? 'it is the only one' : `published are ${listed(keys.kids)}`}.`,
      );
    case 'ephemeral':
      return warning(
        'There is no signing key: this development host makes one up at each start.',
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
    `Others get at key files: ${listed(described)}.`,
    'Take the permissions away (chmod 600), and change the key if somebody may have read it: `mandate keys rotate`.',
  );
}
