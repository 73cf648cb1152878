/** The programs of installed packages. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** The file of a program that Node runs. By default it is the only one of the package. */
export function packageProgram(name: string, program?: string): string {
  const manifest = require.resolve(`${name}/package.json`);
  const { bin }: { bin: Readonly<Record<string, string>> } = JSON.parse(readFileSync(manifest, 'utf8'));
  const file = program === undefined ? Object.values(bin)[0] : bin[program];
  if (file === undefined) throw new Error(`The package ${name} has no such program.`);
  return join(dirname(manifest), file);
}
