/** Every reader of checkpoints uses the same keys of a key set: `audit-verify --jwks`, `@mandate/audit` and the console. */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createAuditor } from '../../adapters/sdk/audit/audit.ts';
import { auditVerify } from '../../composition/commands/audit-verify.ts';
import { presentCheckpoint } from '../../domain/ledger/checkpoint.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { verifyModule } from '../support/console/verify-module.ts';
import { type FreshDatabase, sqliteFile } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { append, seal } from '../support/ledger/fill.ts';
import { makeSealingKey } from '../support/ledger/sealing-key.ts';
import { environmentOf } from '../support/mandate.ts';

type Key = Readonly<Record<string, unknown>>;
type Verdict = 'verified' | 'unknown_key' | 'invalid_signature' | 'refused';

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const foreign: Key = { ...ec('P-256').publicKey.export({ format: 'jwk' }), kid: 'foreign' };
const others: readonly Key[] = [
  { ...generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }), kid: 'rsa' },
  { ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }), kid: 'ed' },
  { ...ec('P-384').publicKey.export({ format: 'jwk' }), kid: 'p384' },
  { kty: 'oct', k: 'AAAA', kid: 'oct' },
];

describe('A key set', () => {
  let folder: string;
  let database: FreshDatabase;
  let key: Key;
  let checkpoint: unknown;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-keys-'));
    const sealing = await makeSealingKey();
    key = { ...sealing.jwks.keys[0] };
    database = await sqliteFile.fresh();
    const storage = await database.open({ clock: { now: () => NOON } });
    await append(storage, 2, NOON);
    checkpoint = presentCheckpoint(await seal(storage, sealing.signer, NOON));
    await storage.close();
  });
  after(async () => {
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  async function byCommand(text: string): Promise<Verdict> {
    const path = join(folder, 'keys.json');
    writeFileSync(path, text);
    const subject = {
      kind: 'ledger',
      marks: [],
      policy: undefined,
      note: undefined,
      recordedKeys: false,
      jwks: { kind: 'file', path },
    } as const;
    const { result, out } = await withEnvironment(environmentOf(database.settings), () =>
      capturingOutput(() => auditVerify({ subject, json: true }, [])),
    );
    if (result === 1) return 'refused';
    return result === 0 ? 'verified' : JSON.parse(out).fault.kind;
  }

  function byLibrary(keys: readonly unknown[]): Verdict {
    try {
      const verdict = createAuditor({ keys: { keys: keys as [] } }).verifyCheckpoints([checkpoint]);
      return verdict.verified ? 'verified' : (verdict.fault as Verdict);
    } catch (error) {
      expect(error).to.be.instanceOf(TypeError);
      return 'refused';
    }
  }

  async function byConsole(text: string): Promise<Verdict> {
    try {
      const keys = await verifyModule.readKeys(text);
      const verdict = await verifyModule.verifyCheckpoints([checkpoint], keys);
      return verdict.verified ? 'verified' : (verdict.fault as Verdict);
    } catch (error) {
      expect(error).to.include({ fault: 'keys' });
      return 'refused';
    }
  }

  const cases: Readonly<Record<string, readonly [() => readonly unknown[], Verdict]>> = {
    'of one key': [() => [key], 'verified'],
    'with the key twice, and a foreign one': [() => [key, foreign, key], 'verified'],
    'with a foreign key of the same kid before the key': [() => [{ ...foreign, kid: key.kid }, key], 'verified'],
    'with a foreign key of the same kid only': [() => [{ ...foreign, kid: key.kid }], 'invalid_signature'],
    'with a foreign key only': [() => [foreign], 'unknown_key'],
    'with keys of all other types, and the key': [() => [...others, null, 7, 'key', key], 'verified'],
    'with keys of all other types only': [() => others, 'refused'],
    'for signatures': [() => [{ ...key, use: 'sig', alg: 'ES256', key_ops: ['verify'] }], 'verified'],
    'for encryption': [() => [{ ...key, use: 'enc' }], 'refused'],
    'for encryption, beside a foreign one': [() => [{ ...key, use: 'enc' }, foreign], 'unknown_key'],
    'for another algorithm': [() => [{ ...key, alg: 'ES384' }], 'refused'],
    'that may only sign': [() => [{ ...key, key_ops: ['sign'] }], 'refused'],
    'that may verify twice': [() => [{ ...key, key_ops: ['verify', 'verify'] }], 'refused'],
    'with null for its use': [() => [{ ...key, use: null }], 'refused'],
    'with a private part': [() => [{ ...key, d: key.x }], 'refused'],
    'without a kid': [() => [{ ...key, kid: undefined }], 'refused'],
    'with an empty kid': [() => [{ ...key, kid: '' }], 'refused'],
    'with a kid that is too long': [() => [{ ...key, kid: 'k'.repeat(257) }], 'refused'],
    'with a point that is not on the curve': [() => [{ ...key, y: key.x }], 'refused'],
    'with such a point, and the key': [() => [{ ...key, y: key.x }, key], 'verified'],
    'with a coordinate that is too short': [() => [{ ...key, x: String(key.x).slice(0, -2) }], 'refused'],
    'with padding': [() => [{ ...key, x: `${key.x}=` }], 'refused'],
    'without keys': [() => [], 'refused'],
  };
  for (const [title, [keys, verdict]] of Object.entries(cases)) {
    it(`${title} has the verdict ${verdict} in all readers`, async () => {
      const text = JSON.stringify({ keys: keys() });
      expect(await byCommand(text), 'audit-verify').to.equal(verdict);
      expect(byLibrary(keys()), 'the library').to.equal(verdict);
      expect(await byConsole(text), 'the console').to.equal(verdict);
    });
  }

  // The library gets parsed JSON.
  const texts: Readonly<Record<string, (text: string) => string>> = {
    'that names a member of a key twice': (text) => text.replace('"kty"', '"kty":"RSA","kty"'),
    'that names a member of a key twice, once escaped': (text) => text.replace('"kty"', '"\\u006bty":"EC","kty"'),
    'that names its keys twice': (text) => text.replace('{"keys"', '{"keys":[],"keys"'),
    'with ill-formed text': (text) => text.replace('"kty"', '"x5t":"\\ud800","kty"'),
    'with values that are nested deeply': (text) =>
      text.replace('"kty"', `"x5c":${'['.repeat(40)}${']'.repeat(40)},"kty"`),
    'with a byte order mark': (text) => `\ufeff${text}`,
    'that is no JSON': (text) => text.slice(1),
  };
  for (const [title, change] of Object.entries(texts)) {
    it(`${title} is refused by the command and the console`, async () => {
      const text = change(JSON.stringify({ keys: [key] }));
      expect(await byCommand(text)).to.equal('refused');
      expect(await byConsole(text)).to.equal('refused');
    });
  }
});

describe('A mark of a checkpoint that never was', () => {
  it('is reported with one sentence by the library and the console, also if it is beyond any checkpoint', async () => {
    const { publicKey } = ec('P-256');
    const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] };
    const [root, most] = ['0'.repeat(64), Number.MAX_SAFE_INTEGER];
    for (const [mark, id] of [
      [`1:${root}`, 1],
      [`${most}:${root}`, most],
    ] as const) {
      const sentence = `There is no checkpoint ${id}, which a mark names: there are no checkpoints at all.`;
      const library = createAuditor({ keys }).verifyCheckpoints([], { marks: [mark] });
      expect(library).to.include({ fault: 'mark_unmatched', message: sentence });
      const marks = verifyModule.readMarks(mark);
      const page = await verifyModule.verifyCheckpoints([], await verifyModule.readKeys(JSON.stringify(keys)), {
        marks,
      });
      expect(page).to.include({ fault: 'mark_unmatched', message: sentence });
    }
    const unsafe = `9999999999999999:${root}`;
    expect(createAuditor({ keys }).verifyCheckpoints([], { marks: [unsafe] })).to.include({ fault: 'unreadable' });
    expect(() => verifyModule.readMarks(unsafe)).to.throw('A mark is written checkpoint_id:root');
  });
});
