import { expect } from 'chai';
import fc from 'fast-check';
import { CompactSign, type CryptoKey, generateKeyPair } from 'jose';
import { decodeCanonical } from '../../../domain/tokens/canonical-base64url.ts';
import { hasType, readCompactJws, readJwsEnvelope } from '../../../domain/tokens/compact-jws.ts';
import { claimsOf } from '../../support/claims.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const encode = (part: string | object) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
const SIGNATURE = encode('a signature that is not checked here');
const HEADER = { alg: 'ES256', kid: 'key-3', typ: 'at+jwt' };
const CLAIMS = { iss: 'https://idp.example', exp: 1_789_653_821, nested: { a: [1, { b: null }] } };

function compact(header: string | object, claims: string | object): string {
  return `${encode(header)}.${encode(claims)}.${SIGNATURE}`;
}

describe('the strict reader of compact JWS', () => {
  let key: CryptoKey;
  before(async () => {
    key = (await generateKeyPair('ES256')).privateKey;
  });

  it('reads every token that a JOSE library signs, with its claims', async () => {
    const claims = fc.dictionary(
      fc.string({ unit: 'grapheme' }),
      fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
    );
    const dates = fc.record({ exp: fc.maxSafeInteger(), nbf: fc.maxSafeInteger(), iat: fc.maxSafeInteger() });
    const header = fc.record(
      { kid: fc.string({ unit: 'grapheme', maxLength: 20 }), typ: fc.string() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(claims, dates, header, async (some, when, more) => {
        const signed = { ...some, ...when };
        const text = await new CompactSign(Buffer.from(JSON.stringify(signed)))
          .setProtectedHeader({ alg: 'ES256', ...more })
          .sign(key);
        expect(readCompactJws(text)).to.deep.equal({
          text,
          algorithm: 'ES256',
          keyId: more.kid,
          type: more.typ,
          claims: claimsOf(JSON.parse(JSON.stringify(signed))),
        });
      }),
      { numRuns: 60 },
    );
  });

  it('refuses every other spelling of a segment with the same decoded bytes', () => {
    const text = fc
      .uint8Array({ minLength: 1, maxLength: 40 })
      .map((bytes) => Buffer.from(bytes).toString('base64url'));
    fc.assert(
      fc.property(
        text,
        fc.nat(),
        fc.constantFrom(...ALPHABET, '=', ' ', '\n', '+', '/', '.', '\u0000'),
        (segment, at, extra) => {
          const place = at % (segment.length + 1);
          const inserted = segment.slice(0, place) + extra + segment.slice(place);
          const replaced = segment.slice(0, place) + extra + segment.slice(place + 1);
          const original = Buffer.from(segment, 'base64url');
          for (const spelling of [inserted, replaced]) {
            if (spelling === segment || !Buffer.from(spelling, 'base64url').equals(original)) continue;
            expect(decodeCanonical(spelling), spelling).to.equal(undefined);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('refuses changed unused bits at the end of the header, the payload and the signature', () => {
    // A last byte that is alone leaves four unused bits, and two bytes leave two.
    for (const place of [0, 1, 2]) {
      const segments = [encode('{"alg":"ES256"}  '.slice(0, 16)), encode('{"a":1} '), encode('xy')];
      expect(readCompactJws(segments.join('.'))).not.to.equal(undefined);
      const segment = segments[place] ?? '';
      const last = ALPHABET[ALPHABET.indexOf(segment.at(-1) ?? '') + 1] ?? '';
      const flipped = segment.slice(0, -1) + last;
      expect(Buffer.from(flipped, 'base64url').equals(Buffer.from(segment, 'base64url'))).to.equal(true);
      expect(readCompactJws(segments.with(place, flipped).join('.'))).to.equal(undefined);
    }
  });

  it('reads header, key id, type and claims', () => {
    const text = compact(HEADER, CLAIMS);
    expect(readCompactJws(text)).to.deep.equal({
      text,
      algorithm: 'ES256',
      keyId: 'key-3',
      type: 'at+jwt',
      claims: claimsOf(CLAIMS),
    });
  });

  const good = compact(HEADER, CLAIMS);
  for (const [title, text] of [
    ['an empty text', ''],
    ['two segments', `${encode(HEADER)}.${encode(CLAIMS)}`],
    ['four segments', `${good}.${SIGNATURE}`],
    ['five segments, as of an encrypted token', `${good}.a.b`],
    ['no header', `.${encode(CLAIMS)}.${SIGNATURE}`],
    ['no payload', `${encode(HEADER)}..${SIGNATURE}`],
    ['no signature', `${encode(HEADER)}.${encode(CLAIMS)}.`],
    ['white space at the end', `${good}\n`],
    ['white space at the beginning', ` ${good}`],
    ['the JSON serialisation', JSON.stringify({ protected: encode(HEADER), payload: 'e30', signature: SIGNATURE })],
    ['a header that is not JSON', compact('alg', CLAIMS)],
    ['a header that is a list', compact('["ES256"]', CLAIMS)],
    ['a header with a byte order mark', compact(`\ufeff${JSON.stringify(HEADER)}`, CLAIMS)],
    ['a header with a repeated member', compact('{"alg":"none","alg":"ES256"}', CLAIMS)],
    ['a header with a repeated member in two spellings', compact('{"alg":"none","\\u0061lg":"ES256"}', CLAIMS)],
    ['claims with a repeated member', compact(HEADER, '{"sub":"ada","sub":"root"}')],
    ['claims with a repeated member far down', compact(HEADER, '{"a":[{"b":{"c":1,"c":2}}]}')],
    ['claims that are a list', compact(HEADER, '[]')],
    ['claims that are a string', compact(HEADER, '"claims"')],
    ['claims that are null', compact(HEADER, 'null')],
    ['a lone surrogate in a claim', compact(HEADER, '{"sub":"\\ud800"}')],
    ['no alg', compact({ kid: 'a' }, CLAIMS)],
    ['an alg that is not a string', compact({ alg: ['ES256'] }, CLAIMS)],
    ['an alg that comes from the prototype', compact('{"__proto__":{"alg":"ES256"}}', CLAIMS)],
    ['a kid that is not a string', compact({ ...HEADER, kid: 3 }, CLAIMS)],
    ['a kid of 257 characters', compact({ ...HEADER, kid: 'k'.repeat(257) }, CLAIMS)],
    ['a typ that is not a string', compact({ ...HEADER, typ: null }, CLAIMS)],
    ['an unknown crit', compact({ ...HEADER, crit: ['exp'], exp: 1 }, CLAIMS)],
    ['an empty crit', compact({ ...HEADER, crit: [] }, CLAIMS)],
    ['a crit that is not a list', compact({ ...HEADER, crit: null }, CLAIMS)],
    ['b64 with crit', compact({ ...HEADER, crit: ['b64'], b64: false }, CLAIMS)],
    ['b64 alone', compact({ ...HEADER, b64: true }, CLAIMS)],
    ['an exp that is not a finite number', compact(HEADER, '{"exp":1e400}')],
    ['an exp with a fraction', compact(HEADER, '{"exp":1.5}')],
    ['an exp that no double holds exactly', compact(HEADER, '{"exp":9007199254740993}')],
    ['an exp in a string', compact(HEADER, '{"exp":"1789653821"}')],
    ['an exp that is null', compact(HEADER, '{"exp":null}')],
    ['an iat in a list', compact(HEADER, '{"iat":[1]}')],
    ['an nbf that is an object', compact(HEADER, '{"nbf":{}}')],
  ] as const) {
    it(`refuses ${title}`, () => {
      expect(readCompactJws(text)).to.equal(undefined);
    });
  }

  it('refuses a header or claims that are not UTF-8, even if they were signed', async () => {
    const bytes = Buffer.from('{"alg":"ES256","sub":"ad\u00ff"}', 'latin1').toString('base64url');
    expect(readCompactJws(`${encode(HEADER)}.${bytes}.${SIGNATURE}`)).to.equal(undefined);
    expect(readCompactJws(`${bytes}.${encode(CLAIMS)}.${SIGNATURE}`)).to.equal(undefined);
    const signed = (claims: Uint8Array) => new CompactSign(claims).setProtectedHeader({ alg: 'ES256' }).sign(key);
    const named = (bytes: readonly number[]) =>
      Buffer.concat([Buffer.from('{"sub":"ada'), Buffer.from(bytes), Buffer.from('"}')]);
    for (const [title, broken] of [
      ['a byte that begins no character', [0xff]],
      ['an overlong slash', [0xc0, 0xaf]],
      ['a surrogate', [0xed, 0xa0, 0x80]],
      ['an incomplete character', [0xc3]],
    ] as const) {
      expect(readCompactJws(await signed(named(broken))), title).to.equal(undefined);
    }
    const whole = await signed(named([0xc3, 0xa9]));
    expect(readCompactJws(whole)?.claims.json, 'in UTF-8 it is read').to.deep.equal({ sub: 'adaé' });
  });

  it('accepts a kid of 256 characters, and a missing one', () => {
    expect(readCompactJws(compact({ ...HEADER, kid: 'k'.repeat(256) }, {}))?.keyId).to.have.length(256);
    expect(readCompactJws(compact({ alg: 'ES256' }, {}))?.keyId).to.equal(undefined);
  });

  it('ignores a key in the header: no verifier here uses it', () => {
    const text = compact(
      { ...HEADER, jwk: { kty: 'EC' }, jku: 'https://evil.example', x5u: 'https://evil.example' },
      {},
    );
    expect(readCompactJws(text)).to.have.all.keys('text', 'algorithm', 'keyId', 'type', 'claims');
  });

  it('reads the header and the unchanged bytes of a payload that is no claims set', () => {
    const text = `${encode(HEADER)}.${Buffer.from([0, 255, 7]).toString('base64url')}.${SIGNATURE}`;
    expect(readCompactJws(text)).to.equal(undefined);
    expect([...(readJwsEnvelope(text)?.payload ?? [])]).to.deep.equal([0, 255, 7]);
  });
});

describe('the type of a token', () => {
  const typed = (typ: string | undefined) => {
    const jws = readCompactJws(compact({ alg: 'ES256', typ }, {}));
    if (jws === undefined) throw new Error('malformed');
    return hasType(jws, ['at+jwt']);
  };

  it('matches in any case, with or without application/ before it', () => {
    for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/at+JWT']) {
      expect(typed(typ), typ).to.equal(true);
    }
  });

  it('does not match another or a missing type', () => {
    for (const typ of ['JWT', 'at+jwt2', 'xat+jwt', 'text/at+jwt', ' at+jwt', '', undefined]) {
      expect(typed(typ), typ).to.equal(false);
    }
  });
});
