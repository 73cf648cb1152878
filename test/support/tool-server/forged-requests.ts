/** Requests for approval that no control plane may accept. */

import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';
import { digestOf } from './approval-request.ts';

/** What a good request has. Its title begins with "Delete", and it has one line. */
interface GoodClaims {
  readonly iss: string;
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
  readonly task_id: string;
}

/**
 * Forged and ambiguous forms of a good request, by the reason of their refusal and by their fault.
 *
 * @param key of the resource @param other that of another resource
 */
export async function forgedRequests({
  claims,
  key,
  other,
}: {
  readonly claims: GoodClaims;
  readonly key: SigningKey;
  readonly other: SigningKey;
}): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  const header = { alg: 'ES256', typ: 'approval-request+jwt', kid: key.kid };
  const payload = JSON.stringify(claims);
  const good = key.sign(header, payload);
  const [head = '', body = '', signature = ''] = good.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const publicPem = createPublicKey(key.privateKey).export({ format: 'pem', type: 'spki' });
  const own = await makeSigningKey('ES256');
  const signedWith = (changed: object | string, text: string = payload) => key.sign(changed, text);
  const withClaims = (changes: object) => signedWith(header, JSON.stringify({ ...claims, ...changes }));
  const by = (changed: object, make: (input: string) => string) => {
    const input = `${encoded(changed)}.${body}`;
    return `${input}.${make(input)}`;
  };
  return {
    approval_request_malformed: {
      'no signature': `${head}.${body}.`,
      'alg none': by({ ...header, alg: 'none' }, () => ''),
      'alg none with a signature': by({ ...header, alg: 'none' }, () => signature),
      'alg es256': signedWith({ ...header, alg: 'es256' }),
      'an HMAC with the public key': by({ ...header, alg: 'HS256' }, (input) =>
        createHmac('sha256', publicPem).update(input).digest('base64url'),
      ),
      'alg ES384': by({ ...header, alg: 'ES384' }, (input) =>
        sign('sha384', Buffer.from(input), { key: p384.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url'),
      ),
      'a kid that is a list': signedWith({ ...header, kid: [key.kid] }),
      'a kid of 257 characters': signedWith({ ...header, kid: 'k'.repeat(257) }),
      'no kid': signedWith({ alg: 'ES256', typ: 'approval-request+jwt' }),
      crit: signedWith({ ...header, crit: ['exp'] }),
      'an empty crit': signedWith({ ...header, crit: [] }),
      b64: signedWith({ ...header, b64: false }),
      'typ JWT': signedWith({ ...header, typ: 'JWT' }),
      'no typ': signedWith({ alg: 'ES256', kid: key.kid }),
      'a header member twice': signedWith(`{"alg":"none",${JSON.stringify(header).slice(1)}`),
      'a claim twice': signedWith(header, `{"digest":"${digestOf('x')}",${payload.slice(1)}`),
      'a claim twice, escaped': signedWith(header, `{"\\u0064igest":"${digestOf('x')}",${payload.slice(1)}`),
      'a member of a line twice': signedWith(header, payload.replace('"label"', '"value":"PAY-8","label"')),
      'JSON 33 deep': signedWith(header, `{"x":${'['.repeat(33)}${']'.repeat(33)},${payload.slice(1)}`),
      'a byte order mark': signedWith(header, `\ufeff${payload}`),
      'a lone surrogate': signedWith(header, payload.replace('Delete', '\\ud800')),
      'padding after the header': `${head}=.${body}.${signature}`,
      'padding after the signature': `${head}.${body}.${signature}=`,
      'a space': ` ${good}`,
      'a line end': `${good}\n`,
      'a fourth part': `${good}.x`,
      'the JSON form': JSON.stringify({ protected: head, payload: body, signature }),
      'the digest with padding': withClaims({ digest: `${digestOf('x')}=` }),
      'the digest in base64': withClaims({ digest: `${'+/'.repeat(21)}A` }),
      'a digest of 31 bytes': withClaims({ digest: Buffer.alloc(31).toString('base64url') }),
      'a digest of 33 bytes': withClaims({ digest: Buffer.alloc(33).toString('base64url') }),
      'a digest with other trailing bits': withClaims({ digest: `${'A'.repeat(42)}B` }),
      'a digest that is a list': withClaims({ digest: [digestOf('x')] }),
      'exp of 1e400': signedWith(header, payload.replace(`"exp":${claims.exp}`, '"exp":1e400')),
      'exp as a text': withClaims({ exp: `${claims.exp}` }),
      'exp with a fraction': withClaims({ exp: claims.exp + 0.5 }),
      'no exp': withClaims({ exp: undefined }),
      'no iat': withClaims({ iat: undefined }),
      'an empty jti': withClaims({ jti: '' }),
      'a jti of 257 characters': withClaims({ jti: 'j'.repeat(257) }),
      'a jti that is a number': withClaims({ jti: 7 }),
      'a jti with a null': withClaims({ jti: 'a\u0000' }),
      'two audiences': withClaims({ aud: [claims.aud, claims.aud] }),
      'the audience with a slash': withClaims({ aud: `${claims.aud}/` }),
      'the task in lower case': withClaims({ task_id: claims.task_id.toLowerCase() }),
      'a tab in the title': withClaims({ title: 'a\tb' }),
      'a next line in the title': withClaims({ title: 'a\u0085b' }),
      'a thousand lines': withClaims({ lines: Array(1000).fill({ label: 'a', value: 'b' }) }),
      'lines as an object': withClaims({ lines: { 0: { label: 'a', value: 'b' }, length: 1 } }),
      'a line with a member __proto__': signedWith(header, payload.replace('"label"', '"__proto__":{},"label"')),
      'a line as a list': withClaims({ lines: [['Issue', 'PAY-7']] }),
    },
    approval_signature_invalid: {
      'an HMAC under alg ES256': by(header, (input) =>
        createHmac('sha256', publicPem).update(input).digest('base64url'),
      ),
      'a DER signature': by(header, (input) =>
        sign('sha256', Buffer.from(input), key.privateKey).toString('base64url'),
      ),
      'r and s of zero': `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`,
      'half a signature': `${head}.${body}.${bytes.subarray(0, 32).toString('base64url')}`,
      'an embedded key': own.sign({ ...header, kid: own.kid, jwk: own.publicJwk }, payload),
      'an embedded key under a known kid': own.sign({ ...header, jwk: own.publicJwk }, payload),
      'a jku of its own': own.sign({ ...header, jku: 'https://evil.example/keys' }, payload),
      'the key of another resource': other.sign({ ...header, kid: other.kid }, payload),
      'the key of another resource under a known kid': other.sign(header, payload),
    },
    approval_issuer_unknown: {
      'another issuer': withClaims({ iss: 'https://claims.iss.example' }),
      'the issuer with a slash': withClaims({ iss: `${claims.iss}/` }),
    },
    approval_request_expired: {
      'exp 121 s ahead': withClaims({ exp: claims.iat + 121 }),
      'exp in a year': withClaims({ exp: claims.exp + 31_536_000 }),
      'exp at the end of time': withClaims({ exp: Number.MAX_SAFE_INTEGER }),
      'exp a minute ago': withClaims({ exp: claims.iat - 60 }),
      'iat in the future': withClaims({ iat: claims.iat + 61 }),
      'nbf in the future': withClaims({ nbf: claims.iat + 61 }),
    },
  };
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The order n of the group (SEC 2): with a signature (r, s), (r, n - s) verifies too. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The same request with another signature that verifies. It can be made without the key. */
export function otherSignature(request: string): string {
  const [head, body, signature = ''] = request.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const turned = Buffer.from((P256_ORDER - s).toString(16).padStart(64, '0'), 'hex');
  return `${head}.${body}.${Buffer.concat([bytes.subarray(0, 32), turned]).toString('base64url')}`;
}
