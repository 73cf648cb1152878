/** Module hooks for a worker thread that runs from the sources: what it imports of ours comes as one piece. */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';

/** Where this process keeps the pieces. */
let folder;

export function initialize(given) {
  folder = given;
}

export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context);
  return { format: 'module', source: await program(fileURLToPath(url)), shortCircuit: true };
}

async function program(entry) {
  const kept = join(folder, `${basename(entry)}.mjs`);
  try {
    return readFileSync(kept, 'utf8');
  } catch {
    const { build } = await import('esbuild');
    const { outputFiles } = await build({
      ...{ entryPoints: [entry], bundle: true, packages: 'external', format: 'esm', platform: 'node' },
      ...{ target: 'node20', sourcemap: 'inline', write: false, logLevel: 'silent' },
    });
    const { text } = outputFiles[0];
    // Two threads may do this at once, and neither must read half of what the other writes.
    writeFileSync(`${kept}.${threadId}`, text);
    renameSync(`${kept}.${threadId}`, kept);
    return text;
  }
}
