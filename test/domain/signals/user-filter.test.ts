import { expect } from 'chai';
import fc from 'fast-check';
import { USER_SCHEMA } from '../../../domain/signals/user-attribute.ts';
import { readUserFilter } from '../../../domain/signals/user-filter.ts';

describe('A filter of users', () => {
  it('compares userName or externalId with a quoted value, in any case, with or without the schema', () => {
    const equals = (attribute: string, value: string) => ({ kind: 'equals', attribute, value });
    expect(readUserFilter('userName eq "ada@example.com"')).to.deep.equal(equals('userName', 'ada@example.com'));
    expect(readUserFilter('EXTERNALID EQ "00u7"')).to.deep.equal(equals('externalId', '00u7'));
    expect(readUserFilter(`${USER_SCHEMA}:userName  Eq  "x"`)).to.deep.equal(equals('userName', 'x'));
    expect(readUserFilter(' externalId eq "a\\"b\\\\c\\u0041" ')).to.deep.equal(equals('externalId', 'a"b\\cA'));
  });

  it('reads any name back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), (value) => {
        const read = readUserFilter(`userName eq ${JSON.stringify(value)}`);
        if (read.kind === 'equals') expect(read.value).to.equal(value);
        else expect(/^\s*$|\p{Cc}/u.test(value) || !value.isWellFormed() || value.length > 256).to.equal(true);
      }),
    );
  });

  it('matches no user if the name is invalid', () => {
    for (const value of ['', ' ', 'a'.repeat(257), 'a\u0000']) {
      expect(readUserFilter(`externalId eq ${JSON.stringify(value)}`)).to.deep.equal({ kind: 'no_match' });
    }
  });

  for (const text of [
    '',
    'userName',
    'userName eq',
    'userName eq ada',
    "userName eq 'ada'",
    'userName eq 7',
    'userName eq true',
    'userName eq null',
    'userName ne "ada"',
    'userName sw "a"',
    'userName pr',
    'active eq "true"',
    'active eq true',
    'id eq "user_1"',
    'emails.value eq "a@b.example"',
    'userName.x eq "a"',
    'userName eq "a" or userName pr',
    'userName eq "a" or userName eq "b"',
    'not (userName eq "a")',
    '(userName eq "a")',
    'userName eq "a" --',
    'userName eq "a"; drop table provisioned_users',
    'userName eq "a" and externalId eq "b"',
    'urn:example:User:userName eq "a"',
    'userName eq "a\nb"',
    'userName eq "\\ud800"',
    'userName eq "\\x"',
    `${'('.repeat(20_000)}`,
    `userName eq ${'['.repeat(20_000)}`,
    `userName ${' '.repeat(20_000)}`,
  ]) {
    it(`may not be ${text.slice(0, 60) || 'empty'}`, () => {
      expect(readUserFilter(text)).to.include({ kind: 'invalid', code: 'invalidFilter' });
    });
  }
});
