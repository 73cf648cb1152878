import { readFileSync } from 'node:fs';

const PACKAGE_NAME = 'mandate';
/** The library with the program `mandate-guard`. All our packages have one version. */
const LIBRARY_NAME = '@mandate/tool-server';

/**
 * Reads the version from package.json, in a parent folder of this file. That holds in the source tree, and in `dist` of each
 * package.
 */
export function packageVersion(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const found = readPackage(new URL('package.json', folder));
    const isOurs = found?.name === PACKAGE_NAME || found?.name === LIBRARY_NAME;
    if (isOurs && found?.version !== undefined) return found.version;
    if (folder.pathname === '/') throw new Error('The package.json of this program is missing.');
  }
}

function readPackage(file: URL): { readonly name?: string; readonly version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

let agent: string | undefined;

/** The `User-Agent` of every request that this program sends (RFC 9110 §10.1.5). Some firewalls refuse a request without. */
export function userAgent(): string {
  agent ??= `${PACKAGE_NAME}/${packageVersion()}`;
  return agent;
}
