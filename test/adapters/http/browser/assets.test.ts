import { expect } from 'chai';
import { assets as consoles } from '../../../../adapters/http/console/assets.ts';
import { assets as persons } from '../../../../adapters/http/me/assets.ts';

describe("The pages' style sheets", () => {
  it('repeat no rule: a common sheet has the rules that the console and the page share', () => {
    expect(consoles.common.bytes.equals(persons.common.bytes)).to.equal(true);
    const rules = ({ bytes }: { readonly bytes: Buffer }) =>
      new Set(bytes.toString('utf8').match(/^[^\s@/}][^{}]*\{[^}]*\}/gm));
    const common = rules(consoles.common);
    const [ofConsole, ofPerson] = [rules(consoles.style), rules(persons.style)];
    for (const found of [common, ofConsole, ofPerson]) expect(found.size).to.be.greaterThan(20);
    expect([...ofConsole].filter((rule) => ofPerson.has(rule) || common.has(rule))).to.deep.equal([]);
    expect([...ofPerson].filter((rule) => common.has(rule))).to.deep.equal([]);
  });
});
