/** The files that the page loads. Their paths change with their content, so browsers may keep them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
}

function asset(name: string, extension: string, type: string): Asset {
  const bytes = readFileSync(new URL(`./assets/${name}.${extension}`, import.meta.url));
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { path: `/me/assets/${name}.${hash}.${extension}`, type, bytes };
}

export const assets = {
  style: asset('me', 'css', 'text/css; charset=utf-8'),
  script: asset('me', 'js', 'text/javascript; charset=utf-8'),
  mark: asset('mark', 'svg', 'image/svg+xml'),
} as const;
