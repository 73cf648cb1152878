/**
 * Checks objects against the types of an npm package: TypeScript refuses unknown fields, wrong types, and missing
 * fields that are required.
 */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../packed-packages.ts';
import type { Manifest } from './helm.ts';

type TypeOf = (object: Manifest) => string;

/** The Kubernetes API, as `kubernetes-types` has it. Kind and version are optional there; an object needs them. */
const kubernetesTypes: TypeOf = ({ apiVersion, kind }) => {
  const module = apiVersion.includes('/') ? apiVersion.replace(/\.[^/]*/, '') : `core/${apiVersion}`;
  const type = `import('kubernetes-types/${module}').${kind}`;
  return `${type} & Required<Pick<${type}, 'apiVersion' | 'kind'>>`;
};

/** @param parent a folder from which the package can be imported @returns the compiler's errors; empty if none */
export async function typeErrors(
  objects: readonly Manifest[],
  typeOf = kubernetesTypes,
  parent = join(root, 'node_modules', '.cache'),
): Promise<string> {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'mandate-objects-'));
  const lines = objects.map(
    (object, at) => `const object${at}: ${typeOf(object)} = ${JSON.stringify(object, null, 1)};`,
  );
  writeFileSync(join(folder, 'objects.ts'), lines.join('\n'));
  const options = ['--strict', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', ''];
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        [compiler, '--noEmit', '--ignoreConfig', ...options, 'objects.ts'],
        { cwd: folder },
        (_, out, err) => resolve(`${out}${err}`),
      );
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
