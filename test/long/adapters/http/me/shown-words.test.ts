/**
 * What a person reads, as a browser draws it: two values that differ never look the same. `test/domain/visible.test.ts` has
 * the rule at every push.
 */

import { expect } from 'chai';
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { renderApproval } from '../../../../../adapters/http/me/pages/approval.ts';
import { renderMe } from '../../../../../adapters/http/me/pages/tasks.ts';
import { makeApprovalId } from '../../../../../domain/identifiers.ts';
import { visibleText } from '../../../../../domain/visible.ts';
import { agentsOf, anApproval, anApprovalView, aTask, aView } from '../../../../adapters/http/me/fixtures.ts';
import { type ServedPage, servePage } from '../../../../adapters/http/me/served-page.ts';
import { browse, closeBrowser } from '../../../../support/browser.ts';

const odd = fc.constantFrom(
  ...[
    '\u00a0',
    '\u2009',
    '\u202f',
    '\u3000',
    '\u200b',
    '\u200c',
    '\u200d',
    '\u200e',
    '\u202e',
    '\u2066',
    '\u00ad',
    '\ufeff',
  ],
  ...[
    '\ufe00',
    '\ufe0e',
    '\ufe0f',
    '\u{e0100}',
    '\u180b',
    '\u180e',
    '\u180f',
    '\u{e0041}',
    '\u034f',
    '\u2800',
    '\u3164',
  ],
  ...['\u115f', '\u17b4', '\u{1d159}', '\u{16fe4}', '\u{13441}', '\u{1107f}', '\ue000', '\u2061', '\ufff9'],
);
const piece = fc.oneof(odd, odd, fc.constantFrom(' ', ' ', '  ', 'ACME', '7', '€', 'EUR', '\\u{20}', '⌚', '"', '<b>'));
const words = fc
  .array(piece, { minLength: 1, maxLength: 7 })
  .map((parts) => `ACME${parts.join('')}Ltd`)
  .chain((text) => fc.constantFrom(text, text.slice(4), text.slice(0, -3)))
  .filter((text) => text !== '' && text.length <= 40);

/** Characters that a browser may draw as nothing: they distinguish no picture. */
const UNSEEN = /\p{C}|\p{Default_Ignorable_Code_Point}|[\u2800\u{1d159}\u{16fe4}\u{13441}\u{1107f}]/gu;

describe('What a person reads in a browser', () => {
  let served: ServedPage;
  let page: Page;
  before(async () => {
    served = await servePage();
    page = await (await browse()).newPage();
  });
  after(async () => {
    await closeBrowser();
    served.stop();
  });

  async function open(text: string) {
    served.show(text);
    await page.goto(served.address);
  }

  it('is another picture for each other value, in titles, labels and values', async () => {
    const twins = [
      'ACME Ltd',
      ...[
        'ACME\ufe0f Ltd',
        'ACME\u{e0100} Ltd',
        'ACME\u180b Ltd',
        'ACME    Ltd',
        '   ACME Ltd',
        'ACME Ltd   ',
        'ACME  Ltd',
      ],
      ...['ACME\u00a0Ltd', 'ACME Ltd\u200b', 'ACME\u200d Ltd', '\\u{20}ACME Ltd', ' ACME Ltd', 'ACME Ltd\u{13441}'],
    ];
    const pictures = new Set<string>();
    const texts = { strong: new Set<string>(), dt: new Set<string>(), dd: new Set<string>() };
    for (const twin of twins) {
      const approval = anApproval({ title: twin, lines: [{ label: twin, value: twin }] });
      await open(renderApproval(anApprovalView({ approval }), 'en'));
      pictures.add((await page.locator('blockquote.action').screenshot()).toString('base64'));
      for (const [place, seen] of Object.entries(texts)) {
        seen.add(await page.locator(`blockquote ${place} bdi`).innerText());
      }
    }
    expect([pictures, ...Object.values(texts)].map(({ size }) => size)).to.deep.equal(Array(4).fill(twins.length));
  });

  it('is another text or has another width for each other value, of random signs', async () => {
    const values = [...new Set(fc.sample(words, 400))];
    const waiting = Array.from({ length: Math.ceil(values.length / 10) }, (_, nth) =>
      anApproval({
        approvalId: makeApprovalId(`01JDCK00000000000000000${String(nth).padStart(3, '0')}`),
        lines: values.slice(nth * 10, nth * 10 + 10).map((value) => ({ label: 'To', value })),
      }),
    );
    await open(renderMe(aView({ waiting, hearsApprovals: true }), 'en'));
    const drawn = await page
      .locator('blockquote dd bdi')
      .evaluateAll((all) =>
        all.map(
          (each) => `${(each as unknown as { innerText: string }).innerText} ${each.getBoundingClientRect().width}`,
        ),
      );
    expect(drawn).to.have.lengthOf(values.length);
    const pictures = drawn.map((picture) => picture.replace(UNSEEN, '').replace(/\p{Zs}/gu, ' '));
    // A typographic space of an amount is shown as the common one.
    const shown = (value: string) => (/\p{Zs}/u.test(visibleText(value)) ? value.replace(/\p{Zs}/gu, ' ') : value);
    const byPicture = new Map(pictures.map((picture, at) => [picture, shown(values[at] ?? '')]));
    const alike = pictures.filter((picture, at) => byPicture.get(picture) !== shown(values[at] ?? ''));
    expect(alike).to.deep.equal([]);
  });

  it('is shown by the same rule in purposes of agents and in their names', async () => {
    const strange = ['Bill\u202eyaP', 'a\u200bb', 'pay\u3164\u3164now', 'hide\u{e0041}', ' Read  issues '];
    const numbered = [
      'Bill\\u{202e}yaP',
      'a\\u{200b}b',
      'pay\\u{3164}\\u{3164}now',
      'hide\\u{e0041}',
      '\\u{20}Read  issues\\u{20}',
    ];
    for (const [at, text] of strange.entries()) {
      const agents = agentsOf([aTask({ displayName: text, purpose: text })]);
      await open(renderMe(aView({ agents, waiting: [anApproval({ displayName: text })], hearsApprovals: true }), 'en'));
      const wanted = numbered[at];
      expect(await page.locator('section[aria-labelledby=live] .stated').first().innerText()).to.equal(wanted);
      expect(await page.locator('section[aria-labelledby=waiting] h3 bdi').first().innerText()).to.equal(wanted);
    }
  });
});
