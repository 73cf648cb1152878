/** Checks that docs/compared-with.md names a source for each product of its table, all read in the month of the page. */

import { expect } from 'chai';
import { proseOf } from '../support/pages/page.ts';

const page = proseOf('docs/compared-with.md');
const table = page.slice(page.indexOf('## In one table'), page.indexOf('## What others do better'));
const sources = page.slice(page.indexOf('## Sources'));

/** The first cell of each row names one product, or several. The row of Mandate is bold. */
const products = [...table.matchAll(/^\| (\w[^|]*) \|/gm)].flatMap(([, cell = '']) => cell.split(', '));

describe('docs/compared-with.md', () => {
  it('names a source for each product of its table', () => {
    expect(products).to.include.members(['Keycloak', 'PingOne', 'Vault']);
    const named = [...sources.matchAll(/\[([^,\]]+), [^\]]*\]\(https:/g)].map(([, name]) => name);
    expect(named).to.have.members(products);
  });

  it('says at its head in which month its sources were read', () => {
    const [, month] = /^Read in (\w+ \d{4}),/m.exec(sources) ?? [];
    expect(month).to.be.a('string');
    expect(page.slice(0, page.indexOf('\n## ')).replaceAll('\n', ' ')).to.include(`This page is from ${month},`);
  });
});
