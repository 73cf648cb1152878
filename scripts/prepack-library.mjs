/**
 * The `prepack` script of each library under adapters/sdk. npm runs it in the library's folder. It deletes `dist`, and
 * compiles the library into it. The compiler follows the imports of the exported files. So `dist` also gets the files of
 * `domain` that the library uses, and no others. npm packs only files in the folder, so the licence is copied there.
 */

import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../', import.meta.url);

rmSync('dist', { recursive: true, force: true });
const compiler = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root));
const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
copyFileSync(new URL('LICENSE', root), 'LICENSE');
process.exitCode = status ?? 1;
