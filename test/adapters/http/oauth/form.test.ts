import { expect } from 'chai';
import fc from 'fast-check';
import { readForm } from '../../../../adapters/http/oauth/form.ts';

const read = (text: string) => readForm(Buffer.from(text, 'latin1'));

describe('A form body', () => {
  it('returns every parameter that a form encoder wrote', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(text, text), (parameters) => {
        const encoded = new URLSearchParams(
          Object.entries(parameters).filter(([key]) => key.isWellFormed()),
        ).toString();
        const outcome = readForm(Buffer.from(encoded));
        expect(outcome.kind === 'read' && Object.fromEntries(outcome.form)).to.deep.equal(
          Object.fromEntries(new URLSearchParams(encoded)),
        );
      }),
    );
  });

  it('treats a parameter without a value as omitted', () => {
    const outcome = read('a=&b&c=1');
    expect(outcome.kind === 'read' && [...outcome.form]).to.deep.equal([['c', '1']]);
  });

  it('is refused with a repeated parameter, also without a value or with an escape', () => {
    for (const text of ['a=1&a=1', 'a=&a=1', 'a&a', 'a=1&%61=2'])
      expect(read(text)).to.deep.equal({ kind: 'repeated', name: 'a' });
  });

  it('is refused with a malformed escape or with bytes that are not UTF-8', () => {
    for (const text of ['a=\xff', 'a=\xed\xa0\x80', '%ed%a0%80=1', '%ff=1']) {
      expect(read(text), text).to.deep.equal({ kind: 'malformed', name: undefined });
    }
    for (const text of ['a=%', 'a=%zz', 'a=%ff', 'a=%c3', 'a=%ed%a0%80']) {
      expect(read(text), text).to.deep.equal({ kind: 'malformed', name: 'a' });
    }
  });

  it('keeps a byte order mark as part of a name or value', () => {
    const outcome = read('\xef\xbb\xbfa=1&b=\xef\xbb\xbf2');
    expect(outcome.kind === 'read' && [...outcome.form]).to.deep.equal([
      ['\ufeffa', '1'],
      ['b', '\ufeff2'],
    ]);
  });

  it('may contain the names __proto__ and constructor', () => {
    const outcome = read('__proto__=x&constructor=y');
    expect(outcome.kind === 'read' && outcome.form.get('__proto__')).to.equal('x');
    expect(outcome.kind === 'read' && outcome.form.get('toString')).to.equal(undefined);
  });
});
