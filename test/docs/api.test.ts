/** docs/api.md is generated from the OpenAPI document. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { ApiDocument } from '../../scripts/api-page/document.ts';
import { anchorOf } from '../../scripts/api-page/markdown.ts';
import { apiPage, MAKE_PAGE } from '../../scripts/api-page/page.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('docs/api.md', () => {
  const page = read('docs/api.md');

  it('is what the OpenAPI document generates', () => {
    const made = apiPage(JSON.parse(read('adapters/http/openapi.json')) as ApiDocument);
    expect(made === page, `it is not: run ${MAKE_PAGE}`).to.equal(true);
  });

  it('has a heading for each link within the page', () => {
    const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
    const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor);
    expect(links.length).to.be.greaterThan(100);
    expect(headings).to.include.members(links);
    expect(new Set(headings).size, 'GitHub numbers a repeated heading').to.equal(headings.length);
  });
});
