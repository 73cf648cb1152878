/** A registry on this machine that has the packed packages, and sends npm to the public one for all others. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { closeServer, listen } from './listening.ts';
import type { PackedPackage } from './packed-packages.ts';

const PUBLIC = 'https://registry.npmjs.org';

export async function startRegistry(packages: ReadonlyMap<string, PackedPackage>) {
  const server = createServer((request, response) => {
    const [name = '', isTarball] = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split('/-/');
    const packed = packages.get(name);
    if (packed === undefined) {
      response.writeHead(302, { location: `${PUBLIC}${request.url}` }).end();
      return;
    }
    const tarball = readFileSync(packed.tarball);
    if (isTarball !== undefined) {
      response.end(tarball);
      return;
    }
    const { version } = packed.manifest;
    const manifest = JSON.parse(readFileSync(`${packed.folder}/package.json`, 'utf8'));
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const dist = { tarball: `${url}/${name}/-/${version}.tgz`, integrity };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }),
    );
  });
  const url = `http://127.0.0.1:${await listen(server, 0)}`;
  return { url, stop: () => closeServer(server) };
}
