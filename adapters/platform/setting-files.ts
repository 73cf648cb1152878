/** A folder whose files are settings, as container platforms mount secrets: one file each, named like the variable. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export type SettingFiles =
  | { readonly kind: 'read'; readonly texts: Readonly<Record<string, string>> }
  /** `problem` completes a sentence that begins with the setting that names the folder. */
  | { readonly kind: 'unusable'; readonly problem: string };

/** Without the line break at the end of each file. Hidden files are left out: Kubernetes has its own in such a folder. */
export function readSettingFiles(folder: string): SettingFiles {
  let reading = 'names a folder';
  try {
    const texts: Record<string, string> = {};
    for (const name of readdirSync(folder).filter((name) => !name.startsWith('.'))) {
      reading = `names a folder with a file ${name}`;
      const file = join(folder, name);
      if (statSync(file).isFile()) texts[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    }
    return { kind: 'read', texts };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return { kind: 'unusable', problem: `${reading} that ${isMissing ? 'does not exist' : 'cannot be read'}` };
  }
}
