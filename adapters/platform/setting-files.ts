/** A folder whose files are settings, as container platforms mount secrets: one file each, named like the variable. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readMarkedUtf8 } from '../../domain/tokens/strict-utf8.ts';

export type SettingFiles =
  | { readonly kind: 'read'; readonly contents: readonly (readonly [name: string, content: SettingFile])[] }
  /** `problem` completes a sentence that begins with the setting that names the folder. */
  | { readonly kind: 'unusable'; readonly problem: string };

/** `problem` completes a sentence that begins with the setting. */
type SettingFile = { readonly text: string } | { readonly text?: undefined; readonly problem: string };

/** The longest variable that Linux accepts. */
const MAX_BYTES = 128 * 1024;

/** Reads each file without the line break at its end. Hidden files are left out: Kubernetes has its own in such a folder. */
export function readSettingFiles(folder: string): SettingFiles {
  let reading = 'names a folder';
  try {
    const contents: [string, SettingFile][] = [];
    for (const name of readdirSync(folder).filter((name) => !name.startsWith('.'))) {
      reading = `names a folder with a file ${name.replace(/\p{Cc}/gu, '?')}`;
      contents.push([name, read(join(folder, name))]);
    }
    return { kind: 'read', contents };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return { kind: 'unusable', problem: `${reading} that ${isMissing ? 'does not exist' : 'cannot be read'}` };
  }
}

function read(path: string): SettingFile {
  const found = statSync(path);
  // Docker creates a folder for a mount whose source does not exist.
  if (!found.isFile()) return { problem: 'is given as a folder or device' };
  if (found.size > MAX_BYTES) return { problem: `is given as a file of more than ${MAX_BYTES} bytes` };
  // Some editors begin a file with a byte order mark.
  const text = readMarkedUtf8(readFileSync(path));
  return text === undefined
    ? { problem: 'is given as a file that is not UTF-8' }
    : { text: text.replace(/\r?\n$/, '') };
}
