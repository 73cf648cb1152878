/** Lists the TypeScript sources of this repository, also while a package is compiled or installed beside them. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** @param folders relative to the root, which is the working directory of a test run @returns paths that begin with a folder */
export function sourceFiles(folders: readonly string[]): readonly string[] {
  return folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
    .filter((path) => path.endsWith('.ts') && !/(?:^|\/)(?:dist|node_modules)\//.test(path));
}
