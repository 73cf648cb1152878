import { expect } from 'chai';
import fc from 'fast-check';
import { type Html, html } from '../../../../adapters/http/browser/html.ts';

describe('A template of the page', () => {
  it('inserts every text as text, in an element and in a quoted attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', 'a', ';', '\u202e', '😀') }), (text) => {
        const markup = `${html`<p title="${text}">${text}</p>`}`;
        const escaped = /^<p title="([^"<>']*)">([^"<>']*)<\/p>$/.exec(markup);
        expect(escaped?.[1]).to.equal(escaped?.[2]);
        const read = (escaped?.[2] ?? '').replace(
          /&(lt|gt|quot|#39|amp);/g,
          (_, name: keyof typeof MEANING) => MEANING[name],
        );
        expect(read).to.equal(text);
      }),
    );
  });

  it('inserts other templates and lists of them as they are, and nothing for undefined and false', () => {
    expect(`${html`<ul>${['a&b', html`<li>${1}</li>`, undefined, false, []]}</ul>`}`).to.equal(
      '<ul>a&amp;b<li>1</li></ul>',
    );
  });

  it('takes no object that only looks like a template', () => {
    const lookalike = { toString: () => '<script>' } as unknown as Html;
    expect(() => html`${lookalike}`).to.throw();
  });

  it('refuses an attribute without quotes', () => {
    expect(() => html`<p title=${'a onclick=b'}></p>`).to.throw('quotes');
  });
});

const MEANING = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' } as const;
