/**
 * A log that a test writes and forks, and the cosignatures that witnesses give it. Its notes, proofs and checks are
 * written here from the specifications (C2SP, RFC 6962 §2.1), without the code of the service.
 */

import { createHash, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';

export interface WrittenLog {
  readonly origin: string;
  readonly vkey: string;
  readonly size: number;
  /** Adds leaves that no other log has. */
  grow(by: number): void;
  root(size?: number): Uint8Array;
  /** The text of the checkpoint of this size, by default of the newest. */
  text(size?: number): string;
  note(size?: number): string;
  proof(oldSize: number, size?: number): readonly Uint8Array[];
  /** The body of `add-checkpoint`. */
  request(oldSize: number, size?: number): string;
  /** A log with the same key and the same first leaves, which goes on by itself. */
  fork(size: number): WrittenLog;
}

const sha256 = (...parts: readonly (Uint8Array | string)[]) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

let written = 0;

export function writtenLog(origin: string, key = generateKeyPairSync('ed25519').privateKey): WrittenLog {
  return writtenWith(origin, key, []);
}

/** The hashes of full ranges, by `start-end`: hashing every leaf again for each request would take seconds. */
type FullRanges = Map<string, Uint8Array>;

function writtenWith(origin: string, key: KeyObject, leaves: Uint8Array[], full: FullRanges = new Map()): WrittenLog {
  const publicKey = Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
  const id = keyId(origin, 1, publicKey);

  /** MTH of RFC 6962 §2.1, of the leaves from `start` to `end`. */
  const hashOf = (start: number, end: number): Uint8Array => {
    if (start === end) return sha256();
    const range = `${start}-${end}`;
    const known = end - start === 1 ? leaves[start] : full.get(range);
    if (known !== undefined) return known;
    const middle = start + split(end - start);
    const hash = sha256(Uint8Array.of(1), hashOf(start, middle), hashOf(middle, end));
    if (end - middle === middle - start) full.set(range, hash);
    return hash;
  };
  /** SUBPROOF of RFC 6962 §2.1.2. */
  const subproof = (oldSize: number, start: number, end: number, isWhole: boolean): readonly Uint8Array[] => {
    if (oldSize === end) return isWhole ? [] : [hashOf(start, end)];
    const middle = start + split(end - start);
    return oldSize <= middle
      ? [...subproof(oldSize, start, middle, isWhole), hashOf(middle, end)]
      : [...subproof(oldSize, middle, end, false), hashOf(start, middle)];
  };

  const root = (size = leaves.length) => hashOf(0, size);
  const text = (size = leaves.length) => `${origin}\n${size}\n${base64(root(size))}\n`;
  const note = (size?: number) =>
    `${text(size)}\n— ${origin} ${base64(Buffer.concat([id, sign(null, Buffer.from(text(size)), key)]))}\n`;
  const proof = (oldSize: number, size = leaves.length) =>
    oldSize === 0 || oldSize >= size ? [] : subproof(oldSize, 0, size, true);
  return {
    origin,
    vkey: `${origin}+${id.toString('hex')}+${base64(Buffer.concat([Uint8Array.of(1), publicKey]))}`,
    get size() {
      return leaves.length;
    },
    grow(by) {
      for (let leaf = 0; leaf < by; leaf += 1) leaves.push(sha256(Uint8Array.of(0), `leaf ${written++}`));
    },
    root,
    text,
    note,
    proof,
    request: (oldSize, size) =>
      `old ${oldSize}\n${proof(oldSize, size)
        .map((hash) => `${base64(hash)}\n`)
        .join('')}\n${note(size)}`,
    fork(size) {
      const kept = [...full].filter(([range]) => Number(range.split('-')[1]) <= size);
      return writtenWith(origin, key, leaves.slice(0, size), new Map(kept));
    },
  };
}

/** The largest power of two below `count`. */
function split(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

function keyId(name: string, type: number, publicKey: Uint8Array): Buffer {
  return sha256(`${name}\n`, Uint8Array.of(type), publicKey).subarray(0, 4);
}

/** The time of a cosignature, in seconds since 1970. @throws if the line is not a cosignature of the witness over the text */
export function cosignedAt(line: string, vkey: string, text: string): number {
  const [name = '', id = '', ...rest] = vkey.split('+');
  const publicKey = Buffer.from(rest.join('+'), 'base64').subarray(1);
  const [, signer, encoded = ''] = /^— (\S+) (\S+)\n$/.exec(line) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const seconds = Number(bytes.subarray(4).readBigUInt64BE());
  const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
  const key = { key: { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') }, format: 'jwk' } as const;
  const isOurs =
    signer === name &&
    bytes.length === 76 &&
    bytes.subarray(0, 4).toString('hex') === id &&
    keyId(name, 4, publicKey).toString('hex') === id;
  if (!isOurs || !verify(null, message, key, bytes.subarray(12))) throw new Error(`not a cosignature: ${line}`);
  return seconds;
}
