/** docs/api.md lists what the OpenAPI document has, in its words. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';

type Described = { readonly description: string };

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly responses: Readonly<Record<string, unknown>>;
}

interface ApiDocument {
  readonly info: Described;
  readonly tags: readonly (Described & { readonly name: string })[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly securitySchemes: Readonly<Record<string, Described>> };
  readonly 'x-any-path': { readonly responses: Readonly<Record<string, Described>> };
}

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
/** The page wraps its lines. */
const flat = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

describe('docs/api.md', () => {
  const page = read('docs/api.md');
  const document = JSON.parse(read('adapters/http/openapi.json')) as ApiDocument;
  const sections = new Map(page.split('\n## ').map((section) => [section.split('\n', 1)[0], section]));
  const rowsOf = (section: string) =>
    (sections.get(section) ?? '').split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'));
  const rowsAfterHead = (section: string) => rowsOf(section).slice(1);

  it('says what holds for every request, and what each credential is', () => {
    expect(flat(page)).to.include(flat(document.info.description));
    const schemes = Object.entries(document.components.securitySchemes);
    expect(rowsAfterHead('Credentials')).to.deep.equal(
      schemes.map(([name, { description }]) => `| ${name} | ${description} |`),
    );
  });

  for (const { name, description } of document.tags) {
    it(`has each request of the surface ${name}, with its credential and its statuses`, () => {
      const operations = Object.entries(document.paths).flatMap(([path, item]) =>
        METHODS.flatMap((method) => {
          const operation = item[method];
          return operation?.tags.includes(name) ? [{ ...operation, request: `${method.toUpperCase()} ${path}` }] : [];
        }),
      );
      const expected = operations.map(({ request, summary, security, responses }) => {
        const credentials = security.flatMap((schemes) =>
          Object.entries(schemes).map(([scheme, roles]) => scheme + (roles.length > 0 ? ` (${roles.join(', ')})` : '')),
        );
        return `| \`${request}\` | ${summary} | ${credentials.join(' or ')} | ${Object.keys(responses).join(', ')} |`;
      });
      expect(expected).not.to.deep.equal([]);
      expect(rowsAfterHead(name)).to.deep.equal(expected);
      expect(flat(sections.get(name) ?? '')).to.include(flat(description));
    });
  }

  it('has the statuses of any path, and no other section', () => {
    expect(rowsAfterHead('On any path')).to.deep.equal(
      Object.entries(document['x-any-path'].responses).map(
        ([status, { description }]) => `| ${status} | ${description} |`,
      ),
    );
    const surfaces = document.tags.map(({ name }) => name);
    expect([...sections.keys()].slice(1)).to.deep.equal(['Credentials', ...surfaces, 'On any path']);
  });
});
