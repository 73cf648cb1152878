/** The files that pages load. Their paths change with their content, so browsers may keep them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Router } from 'express';

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
}

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

const A_YEAR = 31_536_000;

/**
 * @param source the URL of the module whose folder `assets` holds the file
 * @param base the path of all files of the page
 */
export function readAsset(source: string, base: string, name: string, extension: keyof typeof TYPES): Asset {
  const bytes = readFileSync(new URL(`./assets/${name}.${extension}`, source));
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { path: `${base}/assets/${name}.${hash}.${extension}`, type: TYPES[extension], bytes };
}

/** The mark of this service, for every page. */
export function readMark(base: string): Asset {
  return readAsset(import.meta.url, base, 'mark', 'svg');
}

/** Every page's style sheet begins with this text. */
export function readCommonStyle(base: string): Asset {
  return readAsset(import.meta.url, base, 'pages', 'css');
}

/** The script that renews parts of a page. */
export function readRenewal(base: string): Asset {
  return readAsset(import.meta.url, base, 'renewal', 'js');
}

/** @param base the path of the router, which it does not see */
export function serveAssets(router: Router, base: string, assets: readonly Asset[]): void {
  for (const { path, type, bytes } of assets) {
    router.get(path.slice(base.length), (_request, response) => {
      response.set({
        'Cache-Control': `public, max-age=${A_YEAR}, immutable`,
        'X-Content-Type-Options': 'nosniff',
        'Cross-Origin-Resource-Policy': 'same-origin',
      });
      response.type(type).send(bytes);
    });
  }
}
