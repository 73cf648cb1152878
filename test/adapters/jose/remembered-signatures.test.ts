import { expect } from 'chai';
import { strangersWait } from '../../../adapters/jose/key-waits.ts';
import { readProviderJws } from '../../../domain/tokens/compact-jws.ts';
import {
  documentsForEachTest,
  fetchingForEachTest,
  read,
  unverifiable,
} from '../../support/identity-provider/fetched-keys.ts';
import { makeSigningKey, type SigningKey } from '../../support/signing-key.ts';

const LIFETIME = 300;

describe('The signature of a subject token that the keys verified', () => {
  const fetching = fetchingForEachTest();
  const provider = documentsForEachTest();
  let key: SigningKey;
  before(async () => {
    key = await makeSigningKey('RS256');
  });

  const token = (claims: object = {}, by = key) =>
    by.sign({ alg: by.alg, kid: key.kid }, { sub: 'ada', exp: fetching.clock.seconds() + LIFETIME, ...claims });
  const fetched = async () => {
    provider.publish(key.publicJwk);
    const keys = fetching.keysOf(provider.server.url);
    await keys.refreshIfDue();
    return keys;
  };

  it('is remembered while the token lasts, by its hash alone', async () => {
    fetching.clock.standStill();
    const keys = await fetched();
    const jws = read(token());
    expect((await keys.verify(unverifiable(jws))).kind).to.equal('unsupported_algorithm');
    expect((await keys.verify(jws)).kind).to.equal('verified');
    fetching.clock.advance(LIFETIME - 1);
    const remembered = { kind: 'verified', issuer: provider.server.url };
    expect(await keys.verify(unverifiable(jws))).to.deep.equal(remembered);
    expect(await keys.at(strangersWait()).verify(unverifiable(jws))).to.deep.equal(remembered);
    fetching.clock.advance(1);
    expect((await keys.verify(unverifiable(jws))).kind).to.equal('unsupported_algorithm');
  });

  it('is forgotten once the end has passed, also if the clock is set back then', async () => {
    fetching.clock.standStill();
    const keys = await fetched();
    const jws = read(token());
    expect((await keys.verify(jws)).kind).to.equal('verified');
    fetching.clock.advance(LIFETIME);
    expect((await keys.verify(unverifiable(jws))).kind).to.equal('unsupported_algorithm');
    fetching.clock.advance(-LIFETIME);
    expect((await keys.verify(unverifiable(jws))).kind).to.equal('unsupported_algorithm');
    expect((await keys.verify(jws)).kind).to.equal('verified');
  });

  it('is not remembered of a token without an end, or past it', async () => {
    const keys = await fetched();
    fetching.clock.standStill();
    for (const exp of [undefined, fetching.clock.seconds(), 0, -1]) {
      const jws = read(token({ exp }));
      expect((await keys.verify(jws)).kind).to.equal('verified');
      expect((await keys.verify(unverifiable(jws))).kind, String(exp)).to.equal('unsupported_algorithm');
    }
  });

  it('says nothing of a token that differs in one character', async () => {
    const keys = await fetched();
    const text = token();
    expect((await keys.verify(read(text))).kind).to.equal('verified');
    for (let at = 0; at < text.length; at += 1) {
      const other = text[at] === 'A' ? 'B' : 'A';
      const jws = readProviderJws(text.slice(0, at) + other + text.slice(at + 1));
      if (jws !== undefined) expect((await keys.verify(jws)).kind, `character ${at}`).not.to.equal('verified');
    }
    expect((await keys.verify(read(text))).kind).to.equal('verified');
  });

  it('is forgotten with its key, also if another key has the same kid', async () => {
    const keys = await fetched();
    const jws = read(token({ exp: fetching.clock.seconds() + 10_000 }));
    expect((await keys.verify(jws)).kind).to.equal('verified');
    const other = await makeSigningKey('RS256');
    const publishing = async (published: object) => {
      provider.publish(published);
      fetching.clock.advance(300);
      await keys.refreshIfDue();
    };
    for (const [published, fault] of [
      [{ ...other.publicJwk, kid: key.kid }, 'invalid_signature'],
      [other.publicJwk, 'unknown_key'],
    ] as const) {
      await publishing(published);
      expect((await keys.verify(jws)).kind).to.equal(fault);
    }
    await publishing(key.publicJwk);
    expect((await keys.verify(unverifiable(jws))).kind).to.equal('unsupported_algorithm');
    expect((await keys.verify(jws)).kind).to.equal('verified');
  });
});
