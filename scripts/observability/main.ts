/** Writes the generated files: `node --import ./scripts/typescript-loader.mjs scripts/observability/main.ts`. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { generatedFiles } from './files.ts';

for (const [name, { url, text }] of Object.entries(generatedFiles)) {
  const present = existsSync(url) ? readFileSync(url, 'utf8') : '';
  const wanted = text(present);
  if (wanted === present) continue;
  writeFileSync(url, wanted);
  process.stdout.write(`${name} was written.\n`);
}
