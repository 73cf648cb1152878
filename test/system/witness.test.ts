/** `mandate witness` as a process: its files, its start and its end. */

import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runMandate } from '../support/cli-run.ts';
import { type CommandProcess, startCommand } from '../support/command-process.ts';
import { eventually } from '../support/eventually.ts';
import { cosignedAt, writtenLog } from '../support/log/written-log.ts';

describe('mandate witness', function () {
  this.timeout(120_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-witness-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const at = (name: string) => join(folder, name);
  const init = (name: string, ...more: readonly string[]) =>
    runMandate(['witness', 'init', '--key', at(`${name}.pem`), '--state', at(`${name}.db`), ...more]);
  const serveLine = (name: string, ...more: readonly string[]) => [
    ...['witness', 'serve', '--key', at(`${name}.pem`), '--state', at(`${name}.db`), '--port', '0'],
    ...more,
  ];
  const urlOf = async (witness: CommandProcess) => {
    const said = await witness.said('listening');
    return `http://127.0.0.1:${/"port":(\d+)/.exec(said)?.[1]}`;
  };
  const stop = async (witness: CommandProcess) => {
    witness.child.kill('SIGTERM');
    return (await witness.ended).code;
  };

  it('makes a key that only its owner can read, and prints its verifier key', async () => {
    const { code, out, err } = await init('one', '--name', 'auditor.test/w1');
    expect([code, err]).to.deep.equal([0, '']);
    expect(out).to.match(/^auditor\.test\/w1\+[0-9a-f]{8}\+B[A-Za-z0-9+/]{43}\n$/);
    expect(statSync(at('one.pem')).mode & 0o777).to.equal(0o600);
    const again = await init('one', '--name', 'auditor.test/w1');
    expect([again.code, again.out]).to.deep.equal([1, '']);
    expect(again.err).to.match(/one\.db exists already: a state file is never overwritten/);
  });

  it('uses a key that exists', async () => {
    const vkeys = [await init('two', '--name', 'w.test'), await init('three', '--name', 'w.test')].map(
      ({ out }) => out,
    );
    writeFileSync(at('four.pem'), readFileSync(at('two.pem')));
    expect((await init('four', '--name', 'w.test')).out)
      .to.equal(vkeys[0])
      .and.not.equal(vkeys[1]);
  });

  it('cosigns over HTTP, remembers across restarts, and exits with 0 after SIGTERM', async () => {
    const vkey = (await init('five', '--name', 'w.test/5')).out.trim();
    const log = writtenLog('log.test/ledger');
    log.grow(4);
    const send = async (url: string, oldSize: number) => {
      const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: log.request(oldSize) });
      return { status: answer.status, text: await answer.text() };
    };
    const first = startCommand(serveLine('five', '--log', log.vkey), {});
    const answer = await send(await urlOf(first), 0);
    cosignedAt(answer.text, vkey, log.text());
    expect(await stop(first)).to.equal(0);
    log.grow(3);
    const second = startCommand(serveLine('five', '--log', log.vkey), {});
    const url = await urlOf(second);
    expect(await send(url, 0)).to.deep.equal({ status: 409, text: '4\n' });
    expect((await send(url, 4)).status).to.equal(200);
    expect(await stop(second)).to.equal(0);
  });

  it('cosigns nothing, and is not ready, once its state file was replaced: it would forget what it cosigned', async () => {
    await init('eight', '--name', 'w.test/8');
    expect(statSync(at('eight.db')).mode & 0o777).to.equal(0o600);
    const log = writtenLog('log.test/ledger');
    log.grow(4);
    const witness = startCommand(serveLine('eight', '--log', log.vkey), {});
    const url = await urlOf(witness);
    const send = (oldSize: number) =>
      fetch(`${url}/add-checkpoint`, { method: 'POST', body: log.request(oldSize) }).then(({ status }) => status);
    expect(await send(0)).to.equal(200);
    expect((await fetch(`${url}/readyz`)).status).to.equal(200);
    copyFileSync(at('eight.db'), at('copy.db'));
    renameSync(at('copy.db'), at('eight.db'));
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 503, 20);
    log.grow(3);
    expect(await send(4)).to.equal(503);
    expect(await stop(witness)).to.equal(0);
  });

  it('does not start with a lost state file, with another key, or with a file of another program', async () => {
    const { vkey } = writtenLog('log.test/ledger');
    await init('six', '--name', 'w.test/6');
    const refused = async (...line: readonly string[]) => {
      const { code, out, err } = await runMandate(line);
      expect([code, out]).to.deep.equal([1, '']);
      return err;
    };
    const serve = (key: string, state: string) =>
      refused('witness', 'serve', '--key', at(key), '--state', at(state), '--log', vkey);
    expect(await serve('six.pem', 'lost.db')).to.match(/lost\.db does not exist\. .* must not go on with an empty one/);
    expect(existsSync(at('lost.db'))).to.equal(false);
    expect(await serve('lost.pem', 'six.db')).to.match(/lost\.pem does not exist: mandate witness init/);
    await init('seven', '--name', 'w.test/6');
    expect(await serve('seven.pem', 'six.db')).to.match(
      /seven\.pem holds another key than the one that \S+six\.db was/,
    );
    expect(await serve('six.db', 'six.db')).to.match(/six\.db is not an Ed25519 private key in PEM/);
    writeFileSync(at('empty.db'), '');
    expect(await serve('six.pem', 'empty.db')).to.match(/empty\.db is not a state file of a witness/);
    expect(statSync(at('empty.db')).size).to.equal(0);
    expect(await serve('six.pem', 'six.pem')).to.match(/six\.pem is not a state file of a witness/);
    expect(readFileSync(at('six.pem'), 'utf8')).to.match(/^-----BEGIN PRIVATE KEY-----/);
  });

  it('refuses malformed arguments with exit code 2', async () => {
    const { vkey } = writtenLog('log.test/ledger');
    for (const [line, sentence] of [
      [['witness', 'init', '--name', 'a b', '--key', at('x'), '--state', at('y')], /--name must not hold a space/],
      [
        ['witness', 'init', '--name', 'a\u202eb', '--key', at('x'), '--state', at('y')],
        /or a control or format character/,
      ],
      [serveLine('one', '--log', 'log.test+12345678+AQ=='), /--log takes the verifier key of a log/],
      // The id is not that of the name.
      [serveLine('one', '--log', vkey.replace('log.test', 'log.best')), /--log takes the verifier key of a log/],
      [
        serveLine('one', '--log', vkey).map((word) => (word === '0' ? '65536' : word)),
        /--port takes a number from 0 to 65535/,
      ],
      [serveLine('one'), /log/],
    ] as const) {
      const { code, out, err } = await runMandate(line);
      expect([code, out]).to.deep.equal([2, '']);
      expect(err).to.match(sentence);
    }
    expect(existsSync(at('x'))).to.equal(false);
  });
});
