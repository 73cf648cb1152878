/** Every `mandate` command in a page exists, and has the options that the page gives it. */

import { expect } from 'chai';
import { runMandate } from '../support/cli-run.ts';
import { pages, pageText } from '../support/pages/page.ts';

/** The text in fenced blocks and between backticks: elsewhere "mandate" is the name of the product. */
function codeOf(page: string): readonly string[] {
  const text = pageText(page).replaceAll('\\\n', ' ');
  const blocks = [...text.matchAll(/^ *```(?:sh|yaml)\n(.*?)^ *```$/gms)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const inline = [...text.replaceAll(/^ *```.*?^ *```$/gms, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...inline.map((code) => code.replaceAll(/\s+/g, ' '))];
}

/** The options of each command in a page, and the page. */
function usesOf(code: string) {
  const [, before = '', words = '', rest = ''] =
    /^([^#]*?)\bmandate ((?:audit-|after-)?[a-z]+(?: (?:generate|rotate|show|retire|init|apply|disable|serve|adopt-origin|accept-clock))?)(?![\w.:/-])([^#|]*)/.exec(
      code,
    ) ?? [];
  // These are no commands: `docker build -t mandate .`, `create secret generic mandate`, `deployment/mandate --`.
  if (words === '' || /(?:-t|generic|deployment\/) ?$/.test(before) || /=$/.test(before)) return undefined;
  return { words, options: rest.match(/(?<= )--[a-z][a-z-]*/g) ?? [] };
}

const uses = new Map<string, { readonly options: Set<string>; readonly pages: Set<string> }>();
for (const page of pages) {
  for (const code of codeOf(page)) {
    const use = usesOf(code);
    if (use === undefined) continue;
    const known = uses.get(use.words) ?? { options: new Set<string>(), pages: new Set<string>() };
    for (const option of use.options) known.options.add(option);
    uses.set(use.words, { ...known, pages: known.pages.add(page) });
  }
}

describe('The commands in the pages', () => {
  it('are found, so that the tests below are not empty', () => {
    expect([...uses.keys()]).to.include.members(['doctor', 'migrate', 'keys rotate', 'agent apply', 'audit-verify']);
    expect([...(uses.get('doctor')?.options ?? [])]).to.include.members(['--json', '--subject-token', '--person']);
  });

  for (const [words, { options, pages }] of uses) {
    it(`exist: mandate ${words} ${[...options].join(' ')}`, async () => {
      const { out } = await runMandate([...words.split(' '), '--help']);
      expect(out, [...pages].join(', ')).to.match(new RegExp(`^\\S+ ${words}\\b`, 'm'));
      for (const option of options)
        expect(out, [...pages].join(', ')).to.match(new RegExp(`^ +(-\\w, )?${option}\\b`, 'm'));
    });
  }
});
