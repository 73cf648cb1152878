/** Checks every page: its links, headings, paths and settings exist, and docs/README.md leads to it. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { catalogue } from '../../composition/settings/catalogue.ts';
import { catalogueKeyOf } from '../../composition/settings/given-settings.ts';
import { operations } from '../support/openapi/api-document.ts';
import { anchorsOf, proseOf } from '../support/pages/page.ts';

const root = new URL('../../', import.meta.url);
/** Paths of this repository; a media type is no path. */
const FOLDERS =
  /`((?:domain|application(?!\/(?:json|octet-stream|x-www-form-urlencoded)`)|adapters|composition|scripts|test|docs)\/[\w./-]*\w)`/g;

const inDocs = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...inDocs.sort()];
const texts = new Map(pages.map((page) => [page, readFileSync(new URL(page, root), 'utf8')]));

/** The targets of relative links, as paths from the root of the repository. */
function linksOf(page: string): readonly { readonly path: string; readonly anchor: string | undefined }[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const url = path === '' ? new URL(page, root) : new URL(path, new URL(page, root));
    return [{ path: fileURLToPath(url).slice(fileURLToPath(root).length), anchor }];
  });
}

/** A path in which each parameter is `{}`, whatever a page calls it. */
const withoutNames = (path: string) => path.replaceAll(/\{[^}]*\}|…/g, '{}');

/** `docs/auditing.md says ("After a failover")` in a sentence of the program. */
const CITATION = /(docs\/[\w-]+\.md) (?:says )?\("([^"]+)"\)/g;

describe('The sentences of the program', () => {
  it('cite only passages that stand in the pages', () => {
    const cited = ['application', 'adapters', 'composition'].flatMap((folder) =>
      readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .flatMap((name) => [...readFileSync(new URL(`${folder}/${name}`, root), 'utf8').matchAll(CITATION)]),
    );
    expect(cited).to.have.length.greaterThan(5);
    for (const [, page = '', passage] of cited) expect(texts.get(page), `${page} ("${passage}")`).to.include(passage);
  });
});

describe('The pages', () => {
  for (const page of pages) {
    it(`${page} links to existing files and headings`, () => {
      for (const { path, anchor } of linksOf(page)) {
        expect(existsSync(new URL(path, root)), path).to.equal(true);
        if (anchor !== undefined) expect(anchorsOf(path), path).to.include(anchor);
      }
    });
  }

  it('have tables whose rows have as many cells as their head, and an empty line after the last one', () => {
    const cells = (row: string) => row.match(/(?<!\\)\|/g)?.length;
    for (const page of pages) {
      for (const [table] of proseOf(page).matchAll(/^\|.*(?:\n.+)*/gm)) {
        const [head = '', ...rows] = table.split('\n');
        for (const row of rows) expect(cells(row), `${row} in ${page}`).to.equal(cells(head));
      }
    }
  });

  it('name only existing files', () => {
    for (const page of pages) {
      for (const [, path = ''] of proseOf(page).matchAll(FOLDERS)) {
        const known = existsSync(new URL(path, root)) || existsSync(new URL(`${path}.ts`, root));
        expect(known, `${path} in ${page}`).to.equal(true);
      }
    }
  });

  it('name only existing settings', () => {
    const keys = Object.keys(catalogue);
    for (const page of pages) {
      for (const [, key = ''] of proseOf(page).matchAll(/`(Service:[A-Za-z0-9:]*[A-Za-z0-9])`/g)) {
        const known = catalogueKeyOf(key) !== undefined || keys.some((one) => one === key || one.startsWith(`${key}:`));
        expect(known, `${key} in ${page}`).to.equal(true);
      }
    }
  });

  it('name only requests that the service answers', () => {
    const named = pages.flatMap((page) =>
      [...proseOf(page).matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/(?!Users)[^\s`?]*)[^`]*`/g)].map(
        ([, method = '', path = '']) => ({ page, request: `${method} ${withoutNames(path)}` }),
      ),
    );
    expect(named.length).to.be.greaterThan(20);
    const answered = operations.map(({ method, path }) => `${method.toUpperCase()} ${withoutNames(path)}`);
    expect(named.filter(({ request }) => !answered.includes(request))).to.deep.equal([]);
  });

  it('can all be reached from docs/README.md', () => {
    const reached = new Set(['docs/README.md']);
    for (const page of reached) {
      if (!texts.has(page)) continue;
      for (const { path } of linksOf(page)) {
        const isFolder = existsSync(new URL(path, root)) && statSync(new URL(path, root)).isDirectory();
        const inside = isFolder ? pages.filter((one) => one.startsWith(`${path.replace(/\/$/, '')}/`)) : [];
        for (const next of [path, ...inside]) reached.add(next);
      }
    }
    expect(pages.filter((page) => !reached.has(page))).to.deep.equal([]);
  });
});

describe('docs/threat-model.md', () => {
  const attackers =
    proseOf('docs/threat-model.md')
      .split(/^## /m)
      .find((part) => part.startsWith('Attackers\n')) ?? '';

  it('names a file of this repository for every defence', () => {
    const rows = [...attackers.matchAll(/^\| (?!Attempt |---)([^|]*) \|[^|]*\| ([^|]*) \|$/gm)];
    expect(rows.length).to.be.greaterThan(20);
    for (const [, attempt, shown] of rows) expect(shown, attempt).to.match(/`(?:test|application)\/[\w./-]+\.ts`/);
  });

  it('names the remaining risk of every attacker', () => {
    const sections = attackers.split(/^### /m).slice(1);
    expect(sections.length).to.be.greaterThan(4);
    for (const section of sections.filter((one) => one.includes('| Attempt |'))) {
      expect(section, section.split('\n')[0]).to.include('**Remains.**');
    }
  });
});
