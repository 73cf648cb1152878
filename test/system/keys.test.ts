/** `mandate keys`: the files that it writes, and the secrets that it never prints. */

import { createPrivateKey, createPublicKey } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { calculateJwkThumbprint } from 'jose';
import { runMandate } from '../support/cli-run.ts';
import { runCommand } from '../support/command-process.ts';
import { makeSealingKey } from '../support/ledger/sealing-key.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';

interface Report {
  readonly kid: string;
  readonly thumbprint: string;
  readonly file: string | null;
  readonly public_jwk: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
}

/** The private part of a key. */
function privatePart(pem: string): string {
  return createPrivateKey(pem).export({ format: 'jwk' }).d ?? '';
}

describe('mandate keys', () => {
  let folder: string;
  let first: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-keys-'));
    first = join(folder, 'first.pem');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('generate writes an EC P-256 key in PKCS#8 with mode 0600, and prints its thumbprint and settings', async () => {
    const { code, out, err } = await runCommand(['keys', 'generate', '--out', first, '--json']);
    expect([code, err]).to.deep.equal([0, '']);
    const report = JSON.parse(out) as Report;
    const pem = readFileSync(first, 'utf8');
    expect(pem).to.match(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(statSync(first).mode & 0o777).to.equal(0o600);
    const key = createPrivateKey(pem);
    expect(key.asymmetricKeyDetails).to.deep.equal({ namedCurve: 'prime256v1' });
    const thumbprint = await calculateJwkThumbprint(createPublicKey(key).export({ format: 'jwk' }));
    expect(report).to.include({ kid: thumbprint, thumbprint, file: first });
    expect(report.settings).to.deep.equal({ Service__Signing__Keys__0__Path: first });
    expect(Object.keys(report.public_jwk)).to.have.members(['kty', 'crv', 'x', 'y', 'kid', 'use', 'alg']);
    expect(out).not.to.include(privatePart(pem));
  });

  it('generate overwrites no file, follows no symbolic link, and leaves no file after a failure', async () => {
    const before = readFileSync(first);
    const link = join(folder, 'link.pem');
    symlinkSync(join(folder, 'nowhere.pem'), link);
    for (const [file, problem] of [
      [first, /exists already, and is never overwritten\.\n$/],
      [link, /exists already, and is never overwritten\.\n$/],
      [join(folder, 'no', 'key.pem'), /is in a directory that does not exist\.\n$/],
    ] as const) {
      const { code, out, err } = await runMandate(['keys', 'generate', '--out', file]);
      expect([code, out]).to.deep.equal([1, '']);
      expect(err).to.match(problem);
    }
    expect(readFileSync(first)).to.deep.equal(before);
    expect(existsSync(join(folder, 'nowhere.pem'))).to.equal(false);
  });

  it('generate --out - prints nothing but the key on standard output', async () => {
    const settings = { Service__Signing__Keys__0__Path: first };
    const { code, out, err } = await runMandate(['keys', 'generate', '--out', '-', '--kid', 'next-2027'], settings);
    expect(code).to.equal(0);
    expect(out).to.match(/^-----BEGIN PRIVATE KEY-----\n[\s\S]+\n-----END PRIVATE KEY-----\n$/);
    expect(err).not.to.include(privatePart(out));
    // With two keys, Service:Signing:ActiveKid must name the one that signs.
    expect(err).to.match(/Service__Signing__Keys__1__Kid=next-2027\nService__Signing__ActiveKid=\S{43}\n$/);
  });

  it('show --pem prints the public half of each key, the one that signs first, and --kid one alone', async () => {
    const second = await makeSealingKey();
    const settings = {
      Service__Signing__Keys__0__Path: first,
      Service__Signing__Keys__5__Pem: second.pem,
      Service__Signing__Keys__5__Kid: 'second',
      Service__Signing__ActiveKid: 'second',
    };
    const publicHalf = (pem: string) => createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString();
    const [former, signs] = [publicHalf(readFileSync(first, 'utf8')), publicHalf(second.pem)];
    const alone = { Service__Signing__Keys__0__Path: first };
    for (const [options, given, printed] of [
      [['--pem'], settings, signs + former],
      [
        ['--pem', `--kid=${await calculateJwkThumbprint(createPublicKey(former).export({ format: 'jwk' }))}`],
        settings,
        former,
      ],
      [['--pem'], alone, former],
    ] as const) {
      expect(await runMandate(['keys', 'show', ...options], given)).to.include({ code: 0, out: printed, err: '' });
    }
    const unknown = await runMandate(['keys', 'show', '--pem', '--kid', 'third'], settings);
    expect([unknown.code, unknown.out]).to.deep.equal([1, '']);
    expect(unknown.err).to.match(/^mandate: --kid names no configured key; mandate keys show lists them\.\n$/);
  });

  describe('rotate', () => {
    let replicas: Loopback;
    let published: object;
    const next = () => join(folder, 'next.pem');
    before(async () => {
      replicas = await startLoopback((request, response) => answering(published)(request, response));
    });
    after(() => replicas.close());

    const rotate = (settings: Readonly<Record<string, string>>, ...more: readonly string[]) =>
      runMandate(['keys', 'rotate', '--next', next(), ...more], settings);

    it('makes the next key once, changes nothing in a second run, and prints no secret', async () => {
      const present = { Service__Signing__Keys__0__Pem: readFileSync(first, 'utf8') };
      const made = await rotate(present, '--json');
      expect([made.code, made.err]).to.deep.equal([0, '']);
      const pem = readFileSync(next(), 'utf8');
      expect(statSync(next()).mode & 0o777).to.equal(0o600);
      const again = await rotate(present, '--json');
      expect(readFileSync(next(), 'utf8')).to.equal(pem);
      const [one, other] = [JSON.parse(made.out), JSON.parse(again.out)];
      expect([one.key.made, other.key.made, one.next_step, other.next_step]).to.deep.equal([true, false, 1, 1]);
      expect(other).to.deep.equal({ ...one, key: { ...one.key, made: false } });
      expect(one.steps[0]).to.deep.include({ unchanged: ['Service__Signing__Keys__0__Pem'], unset: [] });
      expect(one.steps[2].unset).to.deep.equal([]);
      const shown = made.out + (await rotate(present)).out;
      for (const text of [pem, present.Service__Signing__Keys__0__Pem]) {
        expect(shown).not.to.include(privatePart(text)).and.not.to.include(text.split('\n')[1]);
      }
    });

    it('derives the next step from the settings, and exits with 3 until the replicas have the current step', async () => {
      const present = { Service__Signing__Keys__0__Path: first };
      const { steps } = JSON.parse((await rotate(present, '--json')).out);
      const server = ['--server', replicas.url];
      published = { keys: [] };
      const behind = await rotate(steps[0].settings, ...server);
      expect(behind.code).to.equal(3);
      expect(behind.out)
        .to.include('step 2 is next')
        .and.to.match(/does not publish yet: \S{43}, \S{43}\n$/);
      published = JSON.parse((await runMandate(['keys', 'show', '--json'], steps[0].settings)).out);
      expect((await rotate(steps[0].settings, ...server)).code).to.equal(0);

      const { keys: ours } = published as { readonly keys: readonly { readonly kid: string }[] };
      const [stranger] = (await makeSealingKey()).jwks.keys;
      published = { keys: ours.map((key, nth) => (nth === 0 ? { ...stranger, kid: key.kid } : key)) };
      const replaced = await rotate(steps[0].settings, ...server);
      expect(replaced.code).to.equal(3);
      expect(replaced.out).to.include(`publishes another key under the configured name: ${ours[0]?.kid}\n`);
      published = { keys: ours };

      const { Service__Signing__Keys__0__Path: _former, ...alone } = steps[2].settings;
      const last = await rotate(alone, ...server, '--server', 'http://127.0.0.1:9');
      expect(last.code).to.equal(3);
      expect(last.out)
        .to.include('The current settings include every step.')
        .and.to.match(/still publishes: \S{43}\n/);
      expect(last.out).to.include('http://127.0.0.1:9 could not be reached: There was no answer (ECONNREFUSED).');
    });
  });

  describe('retire', () => {
    let files: { former: string; active: string };
    let settings: Record<string, string>;
    let kids: { former: string; active: string };
    beforeEach(async () => {
      const [former, active] = await Promise.all([makeSealingKey(), makeSealingKey()]);
      files = { former: join(folder, 'former.pem'), active: join(folder, 'active.pem') };
      writeFileSync(files.former, former.pem, { mode: 0o600 });
      writeFileSync(files.active, active.pem, { mode: 0o600 });
      kids = { former: former.signer.kid, active: active.signer.kid };
      settings = {
        Service__Signing__Keys__0__Path: files.former,
        Service__Signing__Keys__1__Path: files.active,
        Service__Signing__ActiveKid: kids.active,
      };
    });
    afterEach(() => {
      for (const file of readdirSync(folder).filter((name) => /former|active|other/.test(name))) {
        rmSync(join(folder, file));
      }
    });

    const retire = (...more: readonly string[]) => runMandate(['keys', 'retire', ...more], settings);
    const published = async () => JSON.parse((await runMandate(['keys', 'show', '--json'], settings)).out);

    it('leaves the public half at the same path, so that no setting and no published key changes', async () => {
      const before = await published();
      const secret = privatePart(readFileSync(files.former, 'utf8'));
      const { code, out, err } = await retire(`--kid=${kids.former}`);
      expect([code, err]).to.deep.equal([0, '']);
      expect(out).to.include(files.former).and.include('Service:Signing:Keys:0:Path still names it');
      expect(readFileSync(files.former, 'utf8')).to.match(
        /^-----BEGIN PUBLIC KEY-----\n[^-]+-----END PUBLIC KEY-----\n$/,
      );
      expect(statSync(files.former).mode & 0o777).to.equal(0o644);
      expect(readdirSync(folder).filter((name) => name.startsWith('former'))).to.deep.equal(['former.pem']);
      expect(await published()).to.deep.equal(before);
      const shown = await runMandate(['keys', 'show'], settings);
      expect(shown.out).to.match(/^published {2}\S{43} {2}from Service:Signing:Keys:0:Path {2}\(public half only\)\n/);
      const rotation = await runMandate(['keys', 'rotate', '--next', files.active], settings);
      expect(rotation.out).to.include('The current settings include every step.');
      expect(out + shown.out).not.to.include(secret);
      const again = await retire(`--kid=${kids.former}`);
      expect([again.code, again.out]).to.deep.equal([1, '']);
      expect(again.err).to.include('holds only the public half already');
    });

    it('refuses the active key, a key by Pem, an unknown kid and a file with a second name, and changes nothing', async () => {
      const pem = readFileSync(files.former, 'utf8');
      const refused = async (kid: string, problem: RegExp, printed = '') => {
        const { code, out, err } = await retire(`--kid=${kid}`);
        expect([code, out]).to.deep.equal([1, printed]);
        expect(err).to.match(problem).and.not.include(privatePart(pem)).and.not.include('PRIVATE KEY');
        expect(readFileSync(files.former, 'utf8')).to.equal(pem);
      };
      await refused(kids.active, /Service:Signing:Keys:1:Path is the key that signs\. Rotate first/);
      await refused('unknown', /--kid names no configured key/);
      linkSync(files.former, join(folder, 'former-other.pem'));
      await refused(kids.former, /has a second name \(a hard link\)/);
      settings = { ...settings, Service__Signing__Keys__0__Pem: pem };
      delete settings.Service__Signing__Keys__0__Path;
      const half = createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString();
      await refused(kids.former, /Keys:0:Pem is a text, not a file\. .* which is on standard output\.$/m, half);
    });
  });
});
