import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { checkJwkSet, PROVIDER_KEY_RULES, readKeySet } from '../../../domain/agents/key-set.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';

const publicJwk = (key: { export(options: { format: 'jwk' }): object }): JsonObject => ({
  ...(key.export({ format: 'jwk' }) as JsonObject),
});
const ec = publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
const ec384 = publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey);
const ec521 = publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey);
const rsa = publicJwk(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey);
const ed25519 = publicJwk(generateKeyPairSync('ed25519').publicKey);

/** The problems of a set that has a valid key and this key. */
function problemsOf(key: unknown): readonly string[] {
  const verdict = checkJwkSet({ keys: [{ ...rsa, kid: 'good' }, key as JsonObject] });
  return verdict.kind === 'invalid' ? verdict.problems : [];
}

const bytes = (length: number, first = 0xc3) => Buffer.from([first, ...Array(length - 1).fill(0x55)]);
const b64 = (value: Uint8Array) => Buffer.from(value).toString('base64url');
/** A modulus of this many bits without small prime factors. */
function modulus(bits: number): string {
  const n = Buffer.from(String(rsa.n), 'base64url');
  const value = BigInt(`0x${n.toString('hex')}`);
  const shift = BigInt(Math.abs(bits - 2048));
  const odd = bits >= 2048 ? (value << shift) + 1n : (value >> shift) | 1n;
  // Only the size matters here, so the next number without a small factor is taken.
  let candidate = odd;
  while (smallPrimes.some((prime) => candidate % prime === 0n)) candidate += 2n;
  const hex = candidate.toString(16);
  return b64(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'));
}
const smallPrimes = Array.from({ length: 700 }, (_, index) => BigInt(index + 2));

describe('the key set of a registration', () => {
  it('accepts EC keys on P-256 and RSA keys, and keeps unknown members', () => {
    const keys = [
      { ...ec, kid: 'a', alg: 'ES256', use: 'sig', key_ops: ['verify'], 'x5t#S256': 'kept' },
      { ...rsa, kid: 'b', alg: 'RS256' },
      { ...rsa, kid: 'c', alg: 'PS256', key_ops: ['verify', 'sign'] },
      ec,
      rsa,
    ];
    expect(checkJwkSet({ keys, more: 'dropped' })).to.deep.equal({ kind: 'valid', jwks: { keys } });
  });

  for (const [title, value] of [
    ['nothing', undefined],
    ['null', null],
    ['text', '{"keys":[]}'],
    ['a list', [ec]],
    ['an object without keys', { key: [ec] }],
    ['keys that are an object', { keys: { 0: ec } }],
    ['keys from the prototype', JSON.parse('{"__proto__":{"keys":[]}}')],
  ] as const) {
    it(`refuses ${title} as a key set`, () => {
      const problems = ['The key set must be an object whose member keys is an array.'];
      expect(checkJwkSet(value)).to.deep.equal({ kind: 'invalid', problems });
    });
  }

  it('refuses an empty set', () => {
    expect(checkJwkSet({ keys: [] })).to.deep.equal({
      kind: 'invalid',
      problems: ['The key set must hold at least one key.'],
    });
  });

  it('accepts 16 keys and refuses 17', () => {
    const keys = Array.from({ length: 17 }, (_, index) => ({ ...ec, kid: `k${index}` }));
    expect(checkJwkSet({ keys: keys.slice(1) }).kind).to.equal('valid');
    expect(checkJwkSet({ keys })).to.deep.equal({
      kind: 'invalid',
      problems: ['The key set must hold at most 16 keys.'],
    });
  });

  for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']) {
    it(`refuses a key with the private member ${name}, with any value`, () => {
      for (const value of ['c2VjcmV0', null, [], '']) {
        expect(problemsOf({ ...ec, [name]: value })).to.deep.equal(['keys[1] carries a private member.']);
      }
    });
  }

  const NOT_A_KIND = 'keys[1] must be an EC key on P-256 or an RSA key.';
  const NO_MODULUS = 'keys[1] must have an n in base64url.';
  const MODULUS = 'keys[1] must have a modulus of 2048 to 8192 bits.';
  const WEAK = 'keys[1] has a modulus that is known to be weak.';
  const EXPONENT = 'keys[1] must have an odd e of at least 65537, of at most 64 bits, in base64url.';
  const X = 'keys[1] must have exactly 32 bytes in base64url for its x.';
  const Y = 'keys[1] must have exactly 32 bytes in base64url for its y.';
  const EC_ALG = 'keys[1] must have no alg but ES256.';
  const RSA_ALG = 'keys[1] must have no alg but PS256 or RS256.';
  const USE = 'keys[1] must have no use but sig.';
  const KEY_OPS = 'keys[1] must have no key_ops, or a list without repetitions that includes verify.';
  const KID = 'keys[1] must have no kid, or one of 1 to 256 characters.';
  const STRINGS = 'keys[1] must have strings for crv, x, y, n and e.';
  const { kty: _, ...untyped } = ec;

  for (const [title, key, ...problems] of [
    ['that is a string', 'key', 'keys[1] must be an object.'],
    ['that is null', null, 'keys[1] must be an object.'],
    ['that is a list', [ec], 'keys[1] must be an object.'],
    ['without kty', untyped, NOT_A_KIND],
    ['whose kty is an object', { ...ec, kty: { toString: 1 } }, NOT_A_KIND],
    ['whose kty is a list', { ...ec, kty: ['EC'] }, NOT_A_KIND],
    ['whose kty is in lower case', { ...ec, kty: 'ec' }, NOT_A_KIND],
    ['for a shared secret', { kty: 'oct', alg: 'HS256' }, NOT_A_KIND],
    ['on P-384', ec384, NOT_A_KIND],
    ['on secp256k1', { ...ec, crv: 'secp256k1' }, NOT_A_KIND],
    ['whose crv is a list', { ...ec, crv: ['P-256'] }, NOT_A_KIND],
    ['without crv', { kty: 'EC', x: ec.x, y: ec.y }, NOT_A_KIND],
    ['on Ed25519', ed25519, NOT_A_KIND],
    ['whose kty and crv are names of inherited properties', { kty: 'constructor', crv: 'name' }, NOT_A_KIND],
    ['without x', { ...ec, x: undefined }, X],
    ['with an x of 31 bytes', { ...ec, x: b64(bytes(31)) }, X],
    ['with an x of 33 bytes, the first of them zero', { ...ec, x: b64(bytes(33, 0)) }, X],
    ['with an x in base64 with padding', { ...ec, x: `${ec.x}=` }, X],
    ['with an x that is a number', { ...ec, x: 7 }, X],
    ['with an empty y', { ...ec, y: '' }, Y],
    ['with a y whose trailing bits are flipped', { ...ec, y: flipped(String(ec.y)) }, Y],
    ['with neither x nor y', { kty: 'EC', crv: 'P-256' }, X, Y],
    ['without n', { ...rsa, n: undefined }, NO_MODULUS],
    ['with an n that is not base64url', { ...rsa, n: `${rsa.n}+/` }, NO_MODULUS],
    ['of 2047 bits', { ...rsa, n: modulus(2047) }, MODULUS],
    ['of 2047 bits and leading zeros', { ...rsa, n: leadingZeros(modulus(2047)) }, MODULUS],
    ['of 1024 bits', { ...rsa, n: modulus(1024) }, MODULUS],
    ['of 8193 bits', { ...rsa, n: modulus(8193) }, MODULUS],
    ['with a modulus of zero', { ...rsa, n: 'AAAA' }, MODULUS],
    ['with an even modulus', { ...rsa, n: b64(Buffer.concat([bytes(255), Buffer.from([0x10])])) }, WEAK],
    ['without e', { ...rsa, e: undefined }, EXPONENT],
    ['with the exponent 1', { ...rsa, e: 'AQ' }, EXPONENT],
    ['with the exponent 3', { ...rsa, e: 'Aw' }, EXPONENT],
    ['with the exponent 65535', { ...rsa, e: b64(Buffer.from([0xff, 0xff])) }, EXPONENT],
    ['with an even exponent', { ...rsa, e: b64(Buffer.from([1, 0, 2])) }, EXPONENT],
    ['with an exponent of 65 bits', { ...rsa, e: b64(bytes(9, 1)) }, EXPONENT],
    ['with an exponent that is a number', { ...rsa, e: 65537 }, EXPONENT],
    ['on P-256 with the alg RS256', { ...ec, alg: 'RS256' }, EC_ALG],
    ['on P-256 with the alg ES384', { ...ec, alg: 'ES384' }, EC_ALG],
    ['of RSA with the alg ES256', { ...rsa, alg: 'ES256' }, RSA_ALG],
    ['of RSA with the alg RS384', { ...rsa, alg: 'RS384' }, RSA_ALG],
    ['of RSA for encryption', { ...rsa, alg: 'RSA-OAEP', use: 'enc' }, RSA_ALG, USE],
    ['whose alg is none', { ...rsa, alg: 'none' }, RSA_ALG],
    ['whose alg is null', { ...rsa, alg: null }, RSA_ALG],
    ['whose alg is a list', { ...ec, alg: ['ES256'] }, EC_ALG],
    ['whose use is enc', { ...ec, use: 'enc' }, USE],
    ['whose use is null', { ...ec, use: null }, USE],
    ['whose key_ops is without verify', { ...ec, key_ops: ['sign'] }, KEY_OPS],
    ['whose key_ops is empty', { ...ec, key_ops: [] }, KEY_OPS],
    ['whose key_ops is a string', { ...ec, key_ops: 'verify' }, KEY_OPS],
    ['whose key_ops repeats itself', { ...ec, key_ops: ['verify', 'verify'] }, KEY_OPS],
    ['whose key_ops holds a number', { ...ec, key_ops: ['verify', 1] }, KEY_OPS],
    ['with an empty kid', { ...ec, kid: '' }, KID],
    ['with a kid of 257 characters', { ...ec, kid: 'k'.repeat(257) }, KID],
    ['with a kid that is a number', { ...ec, kid: 7 }, KID],
    ['with a kid that is not well-formed', { ...ec, kid: 'a\ud800' }, KID],
    ['of RSA with a y that is not a string', { ...rsa, y: 7 }, STRINGS],
    [
      'with the kid of another key',
      { ...ec, kid: 'good' },
      'keys[0] has a kid that another key has too.',
      'keys[1] has a kid that another key has too.',
    ],
    [
      'with every fault at once',
      { ...ec384, d: 'a', use: 'enc', kid: 7 },
      'keys[1] carries a private member.',
      NOT_A_KIND,
      USE,
      KID,
    ],
  ] as const) {
    it(`refuses a key ${title}`, () => {
      const sent = JSON.parse(JSON.stringify(key));
      // JSON.stringify and JSON.parse change a lone surrogate, and keep every other value.
      const received = title.includes('well-formed') ? key : sent;
      expect(problemsOf(received)).to.deep.equal(problems);
    });
  }

  it('accepts a kid of 256 characters, leading zeros in a modulus, and the greatest allowed values', () => {
    for (const key of [
      { ...ec, kid: 'k'.repeat(256) },
      { ...rsa, n: leadingZeros(String(rsa.n)) },
      { ...rsa, n: modulus(8192) },
      { ...rsa, e: b64(bytes(8, 0xff)) },
    ]) {
      expect(problemsOf(key)).to.deep.equal([]);
    }
  });
});

describe('a fetched key set', () => {
  const fetched = (keys: readonly unknown[]) =>
    readKeySet({ keys: keys as JsonObject[] }, PROVIDER_KEY_RULES)?.usable.map(({ jwk, algorithms }) => [
      jwk.kid,
      ...algorithms,
    ]);

  it('allows every key the algorithms of its type, or only the one in its alg', () => {
    const keys = [
      { ...rsa, kid: 'rsa' },
      { ...rsa, kid: 'ps384', alg: 'PS384' },
      { ...ec, kid: 'p256' },
      { ...ec384, kid: 'p384' },
      { ...ec521, kid: 'p521', alg: 'ES512' },
      { ...ed25519, kid: 'ed' },
    ];
    expect(fetched(keys)).to.deep.equal([
      ['rsa', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
      ['ps384', 'PS384'],
      ['p256', 'ES256'],
      ['p384', 'ES384'],
      ['p521', 'ES512'],
      ['ed', 'EdDSA'],
    ]);
  });

  it('skips unusable keys, and uses the others', () => {
    const keys = [
      { ...rsa, kid: 'enc', use: 'enc', alg: 'RSA-OAEP' },
      'no key',
      { ...ec, kid: 'private', d: 'c2VjcmV0' },
      { kty: 'OKP', crv: 'X25519', x: ed25519.x, kid: 'x25519' },
      { ...rsa, kid: 'short', n: modulus(1024) },
      { ...ec, kid: 'good' },
    ];
    expect(fetched(keys)).to.deep.equal([['good', 'ES256']]);
  });

  it('keeps every usable key of one kid, and leaves out the unusable ones of that kid', () => {
    const keys = [
      { ...ec, kid: 'twice' },
      { ...ec384, kid: 'once' },
      { ...rsa, kid: 'twice' },
      { ...rsa, kid: 'mixed', use: 'enc', alg: 'RSA-OAEP' },
      { ...ec, kid: 'mixed' },
      ec,
      rsa,
    ];
    expect(fetched(keys)?.map(([kid]) => kid)).to.deep.equal(['twice', 'once', 'twice', 'mixed', undefined, undefined]);
  });

  it('names each key that is not used by its position, with every reason, and repeats nothing of it', () => {
    const keys = [{ ...ec, kid: 'a' }, { ...rsa, kid: 'b', use: 'enc', alg: 'RSA-OAEP' }, 'no key', { kty: 'oct' }];
    const set = readKeySet({ keys }, PROVIDER_KEY_RULES);
    expect(set?.usable.map(({ index }) => index)).to.deep.equal([0]);
    expect(set?.unused).to.deep.equal([
      'keys[1] must have no alg but PS256 or PS384 or PS512 or RS256 or RS384 or RS512, must have no use but sig.',
      'keys[2] must be an object.',
      'keys[3] must be an EC key on P-256, P-384 or P-521, an RSA key or an Ed25519 key.',
    ]);
  });

  it('is empty if no key is usable, and undefined if the document is no key set', () => {
    expect(fetched([])).to.deep.equal([]);
    expect(fetched([{ kty: 'oct' }])).to.deep.equal([]);
    for (const value of [undefined, null, [], {}, { keys: 'a' }, 'keys']) {
      expect(readKeySet(value, PROVIDER_KEY_RULES), JSON.stringify(value)).to.equal(undefined);
    }
  });

  it('has every usable key, however many there are', () => {
    expect(fetched(Array.from({ length: 1000 }, (_, index) => ({ ...ec, kid: `k${index}` })))).to.have.length(1000);
  });
});

function flipped(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) ?? '') ^ 1];
}

function leadingZeros(text: string): string {
  return b64(Buffer.concat([Buffer.alloc(3), Buffer.from(text, 'base64url')]));
}
