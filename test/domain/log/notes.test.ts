import { createPrivateKey, sign } from 'node:crypto';
import { expect } from 'chai';
import { verifyEd25519 } from '../../../adapters/jose/log-key.ts';
import { sha256Bytes } from '../../../adapters/platform/system-crypto.ts';
import { formatTreeHead, parseTreeHead } from '../../../domain/log/checkpoint-note.ts';
import { cosignedText, decodeCosignature, encodeCosignature } from '../../../domain/log/cosignature.ts';
import { formatNote, openNote, parseNote, parseSignatureLines } from '../../../domain/log/note.ts';
import {
  COSIGNATURE,
  ED25519,
  formatVerifierKey,
  isKeyName,
  makeVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from '../../../domain/log/verifier-key.ts';
import { cosignatureExample, publicCheckpoint, publishedKeys, signedNotes } from '../../support/note-vectors.ts';

const keyOf = (text: string): VerifierKey => {
  const key = parseVerifierKey(sha256Bytes, text);
  if (key === undefined) throw new Error(`not a verifier key: ${text}`);
  return key;
};
const open = (note: string, ...keys: readonly string[]) => {
  const parsed = parseNote(note);
  return parsed && openNote(parsed, keys.map(keyOf), verifyEd25519);
};
const [{ note: NOTE, key: KEY }] = signedNotes;

describe('Verifier keys', () => {
  for (const text of publishedKeys) {
    it(`have the id that their name, type and key make: ${text.split('+', 1)}`, () => {
      const { name, type, publicKey } = keyOf(text);
      const made = makeVerifierKey(sha256Bytes, name, type, publicKey);
      expect(formatVerifierKey(made)).to.equal(text);
    });
  }

  it('are refused if any character differs', () => {
    for (let at = 0; at < KEY.length; at += 1) {
      const changed = `${KEY.slice(0, at)}${KEY[at] === 'b' ? 'c' : 'b'}${KEY.slice(at + 1)}`;
      expect(parseVerifierKey(sha256Bytes, changed), changed).to.equal(undefined);
      expect(parseVerifierKey(sha256Bytes, KEY.slice(0, at)), `${at} characters`).to.equal(undefined);
    }
  });

  it('are refused with an unknown type, even if their id is correct', () => {
    const { name, publicKey } = keyOf(KEY);
    const other = formatVerifierKey(makeVerifierKey(sha256Bytes, name, 0x06 as typeof ED25519, publicKey));
    expect(parseVerifierKey(sha256Bytes, other)).to.equal(undefined);
  });

  it('have a name without Unicode spaces, plus, newlines and other control characters', () => {
    for (const name of ['', 'a b', 'a\u00a0b', 'a\u2003b', 'a\u0085b', 'a+b', 'a\nb', 'a\0b', 'a\ud800']) {
      expect(isKeyName(name), JSON.stringify(name)).to.equal(false);
    }
    for (const name of ['mandate.example/ledger', 'é', 'a:1']) expect(isKeyName(name), name).to.equal(true);
  });

  it('are refused with a name that holds format characters, which are invisible', () => {
    const { type, publicKey } = keyOf(KEY);
    for (const hidden of ['\u200b', '\u202e', '\u2066', '\ufeff', '\u00ad', '\u{e0041}']) {
      const text = formatVerifierKey(makeVerifierKey(sha256Bytes, `mandate.example${hidden}/ledger`, type, publicKey));
      expect(parseVerifierKey(sha256Bytes, text), JSON.stringify(hidden)).to.equal(undefined);
      // A signature of another key is ignored, whatever its name.
      const { note, key } = signedNotes[0] ?? { note: '', key: '' };
      const line = `— other${hidden}.example ${Buffer.alloc(68).toString('base64')}\n`;
      expect(open(note + line, key)).to.have.property('kind', 'verified');
    }
  });
});

describe('Signed notes', () => {
  for (const { note, key } of signedNotes) {
    it(`verify as published: ${key.split('+', 1)}`, () => {
      expect(open(note, key)).to.have.property('kind', 'verified');
      const parsed = parseNote(note);
      expect(parsed && formatNote(parsed)).to.equal(note);
    });
  }

  it('signed here equal those that Go signs, byte by byte', () => {
    const { note, key, seed } = signedNotes[1];
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(seed, 'hex')]);
    const text = parseNote(note)?.text ?? '';
    const signature = sign(null, Buffer.from(text), createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
    const { name, keyId } = keyOf(key);
    expect(formatNote({ text, signatures: [{ name, keyId, signature }] })).to.equal(note);
  });

  it('do not verify if any character of the text or of the signature differs', () => {
    for (let at = 0; at < NOTE.length; at += 1) {
      const changed = `${NOTE.slice(0, at)}${NOTE[at] === 'A' ? 'B' : 'A'}${NOTE.slice(at + 1)}`;
      expect(open(changed, KEY)?.kind, changed).to.not.equal('verified');
    }
  });

  it('are refused as a whole if the signature of one known key is wrong', () => {
    const other = makeVerifierKey(sha256Bytes, 'other.example', ED25519, keyOf(KEY).publicKey);
    const wrong = { name: other.name, keyId: other.keyId, signature: new Uint8Array(64) };
    const parsed = parseNote(NOTE);
    const note = parsed && { ...parsed, signatures: [...parsed.signatures, wrong] };
    expect(note && openNote(note, [keyOf(KEY), other], verifyEd25519)).to.deep.equal({
      kind: 'invalid_signature',
      name: 'other.example',
    });
  });

  it('are accepted with 100 signatures, of which 99 are unknown, and refused with 101', () => {
    const unknown = `— unknown.example/w ${Buffer.alloc(68, 7).toString('base64')}\n`;
    const [text = '', line = ''] = NOTE.split('\n\n');
    const withSignatures = (count: number) => `${text}\n\n${unknown.repeat(count - 1)}${line}`;
    expect(open(withSignatures(100), KEY)?.kind).to.equal('verified');
    expect(parseNote(withSignatures(101))).to.equal(undefined);
    expect(open(NOTE.replace('example.com/foo', 'example.com/bar'), KEY)?.kind).to.equal('unknown_keys');
  });

  const [text = '', line = ''] = NOTE.split('\n\n');
  const malformed: readonly (readonly [string, string])[] = [
    ['has no signature', `${text}\n\n`],
    ['has no empty line', `${text}\n${line}`],
    ['does not end with a newline', NOTE.slice(0, -1)],
    ['has a control character', NOTE.replace('This', 'Th\tis')],
    ['has a carriage return', NOTE.replaceAll('\n', '\r\n')],
    ['has a lone surrogate', NOTE.replace('This', '\ud800')],
    ['has a signature line with a hyphen', NOTE.replace('—', '-')],
    ['has a key name with a plus', NOTE.replace('— example', '— a+b')],
    ['has a key name with a space', NOTE.replace('— example', '— a example')],
    ['has a signature without padding', NOTE.replace('=\n', '\n')],
    ['has a signature with flipped trailing bits', NOTE.replace('aQM=', 'aQN=')],
    ['has a signature of four bytes', `${text}\n\n— a ${Buffer.alloc(4).toString('base64')}\n`],
    ['has a text of a million characters', `${'x'.repeat(1_000_000)}\n${NOTE}`],
  ];
  for (const [title, note] of malformed) {
    it(`are no notes if the text ${title}`, () => expect(parseNote(note)).to.equal(undefined));
  }
});

describe('Checkpoints of logs', () => {
  it('verify as published by a log, with the cosignatures of its witnesses', () => {
    const { note, keys } = publicCheckpoint;
    const opened = open(note, ...keys);
    if (opened?.kind !== 'verified') throw new Error('not verified');
    expect(opened.signatures.map(({ name }) => name)).to.have.members(keys.map((key) => key.split('+', 1)[0]));
    expect(opened.signatures.map(({ seconds }) => seconds ?? 'log')).to.include.members(['log', 1779573024]);
    const text = parseNote(note)?.text ?? '';
    const head = parseTreeHead(text);
    expect(head).to.deep.include({ origin: 'arche2025h1.staging.ct.transparency.dev', size: 1432088532 });
    expect(head && formatTreeHead(head)).to.equal(text);
  });

  it('do not verify with another size, also for a witness', () => {
    const { note, keys } = publicCheckpoint;
    for (const key of keys) {
      expect(open(note.replace('1432088532', '1432088533'), key)?.kind, key).to.equal('invalid_signature');
    }
  });

  it('keep extension lines', () => {
    const text = `a.example\n0\n${Buffer.alloc(32).toString('base64')}\nmore\n`;
    expect(parseTreeHead(text)?.extensions).to.deep.equal(['more']);
  });

  const root = Buffer.alloc(32).toString('base64');
  for (const text of [
    `a.example\n1\n${root}`,
    `a.example\n01\n${root}\n`,
    `a.example\n-1\n${root}\n`,
    `a.example\n9007199254740992\n${root}\n`,
    `a.example\n1\n${root.slice(4)}\n`,
    `a.example\n1\n${root}\n\n`,
    `\n1\n${root}\n`,
    'a.example\n1\n',
  ]) {
    it(`are refused: ${JSON.stringify(text)}`, () => expect(parseTreeHead(text)).to.equal(undefined));
  }
});

describe('Cosignatures', () => {
  it('have the form of the example of C2SP', () => {
    const { line, seconds, text, message } = cosignatureExample;
    const [signature] = parseSignatureLines(line) ?? [];
    const decoded = signature && decodeCosignature(signature.signature);
    expect(decoded?.seconds).to.equal(seconds);
    expect(decoded && Buffer.compare(encodeCosignature(decoded), signature.signature)).to.equal(0);
    expect(cosignedText(seconds, text)).to.equal(message);
  });

  it('are refused with another length, or a time of which no date can be made', () => {
    expect(decodeCosignature(new Uint8Array(71))).to.equal(undefined);
    expect(decodeCosignature(new Uint8Array(73))).to.equal(undefined);
    const [last, signature] = [8_640_000_000_000, new Uint8Array(64)];
    expect(decodeCosignature(encodeCosignature({ seconds: last, signature }))?.seconds).to.equal(last);
    expect(new Date(last * 1000).toISOString()).to.equal('+275760-09-13T00:00:00.000Z');
    expect(decodeCosignature(encodeCosignature({ seconds: last + 1, signature }))).to.equal(undefined);
    expect(decodeCosignature(new Uint8Array(72).fill(0xff))).to.equal(undefined);
  });

  it('do not verify as plain signatures, nor plain signatures as cosignatures', () => {
    const { note, keys } = publicCheckpoint;
    for (const text of keys) {
      const { name, type, publicKey } = keyOf(text);
      const swapped = makeVerifierKey(sha256Bytes, name, type === ED25519 ? COSIGNATURE : ED25519, publicKey);
      const parsed = parseNote(note);
      const signatures = parsed?.signatures.map((each) => ({ ...each, keyId: swapped.keyId })) ?? [];
      expect(openNote({ text: parsed?.text ?? '', signatures }, [swapped], verifyEd25519).kind).to.equal(
        'invalid_signature',
      );
    }
  });
});
