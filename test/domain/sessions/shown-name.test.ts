import { expect } from 'chai';
import { shownName } from '../../../domain/sessions/shown-name.ts';

const encoded = (text: string) => Buffer.from(text).toString('base64url');
const token = (claims: object) => `${encoded('{"alg":"ES256"}')}.${encoded(JSON.stringify(claims))}.c2ln`;
const nameIn = (claims: object, subject = 'jfNGHLhw') => shownName(token({ sub: 'jfNGHLhw', ...claims }), subject);

describe('The name that a page shows', () => {
  it('is the first of preferred_username, name and email that the ID token has', () => {
    const [username, name, email] = [
      { preferred_username: 'ada' },
      { name: 'Ada Lovelace' },
      { email: 'ada@example.org' },
    ];
    expect(nameIn({ ...email, ...name, ...username })).to.equal('ada');
    expect(nameIn({ ...email, ...name })).to.equal('Ada Lovelace');
    expect(nameIn(email)).to.equal('ada@example.org');
    expect(nameIn({})).to.equal(undefined);
  });

  it('is no text that is blank, too long, or no text', () => {
    const name = { name: 'Ada' };
    for (const unusable of ['', ' ', '\u2800', '\u200b', 'x'.repeat(101), 7, null, ['ada'], { ada: 1 }]) {
      expect(nameIn({ preferred_username: unusable, ...name }), JSON.stringify(unusable)).to.equal('Ada');
    }
    expect(nameIn({ name: 'x'.repeat(100) })).to.equal('x'.repeat(100));
  });

  it('is not that of a token of another person, nor of a text that is no token', () => {
    expect(nameIn({ name: 'Ada' }, 'grace')).to.equal(undefined);
    for (const text of ['', 'a.b', 'a.b.c', `${token({ sub: 'jfNGHLhw', name: 'Ada' })}.x`]) {
      expect(shownName(text, 'jfNGHLhw'), text).to.equal(undefined);
    }
  });
});
