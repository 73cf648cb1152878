/** Writes docs/api.md. */

import { readFileSync, writeFileSync } from 'node:fs';
import type { ApiDocument } from './document.ts';
import { apiPage } from './page.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const document = JSON.parse(readFileSync(at('adapters/http/openapi.json'), 'utf8')) as ApiDocument;
writeFileSync(at('docs/api.md'), apiPage(document));
