import { expect } from 'chai';
import { readClaims } from '../../../domain/tokens/claims.ts';
import { textMember } from '../../../domain/tokens/strict-json.ts';
import { claimsOf } from '../../support/claims.ts';

describe('reading claims', () => {
  it('gives each registered claim its type, and keeps all claims as they were sent', () => {
    const json = { iss: 'a', sub: 'b', aud: 'c', exp: 1, nbf: 2, iat: 3, jti: 'd', sid: null, act: { sub: 'e' } };
    expect(readClaims(json)).to.deep.equal({
      issuer: 'a',
      subject: 'b',
      audience: ['c'],
      expiry: 1,
      notBefore: 2,
      issuedAt: 3,
      tokenId: 'd',
      json,
    });
    expect(readClaims({})).to.deep.equal({
      issuer: undefined,
      subject: undefined,
      audience: undefined,
      tokenId: undefined,
      expiry: undefined,
      notBefore: undefined,
      issuedAt: undefined,
      json: {},
    });
  });

  it('returns a claim only if it has the type of that claim', () => {
    const { issuer, subject, tokenId } = claimsOf({ iss: 7, sub: ['a'], jti: null });
    expect([issuer, subject, tokenId]).to.deep.equal([undefined, undefined, undefined]);
    expect(textMember({ text: 'a' }, 'text')).to.equal('a');
    expect(textMember({ text: 'a' }, 'constructor')).to.equal(undefined);
  });

  it('refuses a date that is no whole number, or is beyond the safe integers', () => {
    for (const name of ['exp', 'nbf', 'iat']) {
      for (const date of [null, '7', 1.5, 2 ** 53, Number.POSITIVE_INFINITY, [7], {}]) {
        expect(readClaims({ [name]: date }), `${name} ${date}`).to.equal(undefined);
      }
      expect(readClaims({ [name]: -(2 ** 53) + 1 })).not.to.equal(undefined);
    }
  });

  it('reads aud as one string or as a list of strings', () => {
    expect(claimsOf({ aud: 'a' }).audience).to.deep.equal(['a']);
    expect(claimsOf({ aud: ['a', 'b'] }).audience).to.deep.equal(['a', 'b']);
    expect(claimsOf({ aud: [] }).audience).to.deep.equal([]);
    for (const aud of [undefined, null, 7, ['a', 1], { a: 'b' }]) {
      expect(claimsOf({ aud }).audience, JSON.stringify(aud)).to.equal(undefined);
    }
  });
});
