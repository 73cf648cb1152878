/** The transparency log after its keys or its origin change. */

import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { runMandate } from '../../support/cli-run.ts';
import { withService } from '../../support/mandate.ts';
import { logKeySettings, pemOf, readNote } from '../../support/transparency-log.ts';
import type { Log } from './log.ts';
import { hex, keysIn, ORIGIN, type PublishedKey, thumbprintOf } from './log.ts';

export function testConfiguration(logged: Log): void {
  const { active, seal, noteNow, checkpointTexts } = logged;

  it('records another signing key and another key of the log, once, and names the former signing key', async () => {
    const { mandate } = logged;
    const before = keysIn(await mandate.get('/log/keys'));
    let keys: readonly PublishedKey[] = [];
    const records = await mandate.recorded(async () => {
      for (let start = 0; start < 2; start += 1) {
        await withService(mandate.another({ ...active(1), ...nextLogKey }), async (next) => {
          await next.block(`start-${start}`, 'disabled');
          await next.jobs.seal();
          await next.jobs.growLog();
          keys = keysIn(await next.get('/log/keys'));
        });
      }
    });
    mandate.clock.advance(1);
    expect(keys[0]?.kid).to.equal(before[0]?.kid);
    const logKey = keys.find(({ use }) => use === 'log');
    const changes = records.filter(({ event }) => String(event).startsWith('key.'));
    expect(changes.map(({ event, detail }) => [event, detail])).to.deep.equal([
      ['key.retired', before[0]?.kid],
      ['key.activated', keys.find(({ use, to }) => use === 'checkpoint' && to === null)?.kid],
      ['key.retired', thumbprintOf(before[1])],
      ['key.activated', thumbprintOf(logKey)],
    ]);
    // A replica names only its own key of the log.
    expect(keys.filter(({ use }) => use === 'log')).to.deep.equal([{ ...logKey, to: null }]);
    expect(keys.filter(({ to }) => to !== null).map(({ kid }) => kid)).to.deep.equal([before[0]?.kid]);
    const note = readNote((await mandate.get('/log/checkpoint')).text, logKey?.vkey ?? '');
    expect(note.size).to.equal((await checkpointTexts()).length);
  });

  const nextLogKey = logKeySettings();

  it('records a key that signed while the log was off, if it is still configured', async () => {
    const { signingKeys, mandate } = logged;
    const off = { 'Service:Audit:Log:Key:Pem': '', 'Service:Audit:Log:Public': '' };
    await withService(mandate.another({ ...off, ...active(2) }), async (without) => {
      await without.block('while-off', 'disabled');
      await without.jobs.seal();
    });
    await withService(mandate.another(active(3)), async (next) => {
      next.clock.advance(1);
      const keys = keysIn(await next.get('/log/keys')).filter(({ use }) => use === 'checkpoint');
      const found = keys.find(({ kid }) => kid === signingKeys[2]?.signer.kid);
      expect(found?.to).to.be.a('string');
      expect(keys.find(({ to }) => to === null)?.kid).to.equal(signingKeys[3]?.signer.kid);
      const records = (await next.ledger()).filter(({ detail }) => detail === found?.kid);
      expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal([['key.retired', 'checkpoint_key']]);
    });
  });

  it('reports its state at /readyz', async () => {
    const { mandate } = logged;
    const { body } = await mandate.untilReady({ accept: 'application/json' });
    const { log } = body.checks as Readonly<Record<string, { status: string; detail: string }>>;
    expect(log?.status).to.equal('Healthy');
    expect(log?.detail).to.match(/^The log has \d+ leaves\.$/);
  });

  it('does not start with another origin: the error names both origins and the command', async () => {
    const { mandate } = logged;
    const refused = await mandate
      .another({ 'Service:Audit:Log:Origin': 'other.example/ledger' })
      .then((other) => other.stop())
      .catch((error: unknown) => String(error));
    expect(refused).to.include('other.example/ledger').and.include(ORIGIN).and.include('mandate log adopt-origin');
  });

  it('takes another origin by mandate log adopt-origin, and signs its tree under it', async function () {
    const { on, mandate, fresh } = logged;
    this.timeout(180_000);
    const settings = {
      ...fresh.settings,
      ...on,
      'Service:Issuer': mandate.issuer,
      NODE_ENV: 'development',
      'Service:UpstreamIdp:Issuer': mandate.provider.issuer,
      'Service:UpstreamIdp:Audience': 'mandate',
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    };
    const adopt = (changes: Readonly<Record<string, string>>) =>
      runMandate(['log', 'adopt-origin'], { ...settings, ...changes });
    const off = await adopt({ 'Service:Audit:Log:Key:Pem': '', 'Service:Audit:Log:Public': '' });
    expect([off.code, off.out]).to.deep.equal([1, '']);
    expect(off.err).to.include('Service:Audit:Log:Key is not set');
    // Another instance may have left the note signed by its own key: this one signs the next.
    await seal(1);
    const before = await noteNow();
    const other = { 'Service:Audit:Log:Origin': 'other.example/ledger' };
    const done = await adopt(other);
    expect([done.code, done.err]).to.deep.equal([0, '']);
    expect(done.out).to.include(ORIGIN).and.include('is now other.example/ledger');
    // The instance with the former name signs nothing, and says so.
    await mandate.jobs.growLog();
    mandate.clock.advance(1);
    expect((await mandate.get('/log/checkpoint')).status).to.equal(404);
    const said = mandate.log.lines.map((line) => JSON.parse(line));
    const halt = said.find(({ message }) => message === 'the transparency log does not grow');
    expect(halt?.problem).to.include(ORIGIN).and.include('other.example/ledger');
    await withService(mandate.another(other), async (renamed) => {
      const key = keysIn(await renamed.get('/log/keys')).findLast(({ use, to }) => use === 'log' && to === null);
      const note = readNote((await renamed.get('/log/checkpoint')).text, key?.vkey ?? '');
      expect([note.origin, note.size]).to.deep.equal(['other.example/ledger', before.size]);
      expect(hex(note.root)).to.equal(hex(before.root));
    });
    expect((await adopt({})).code).to.equal(0);
    await mandate.jobs.growLog();
    mandate.clock.advance(1);
    expect((await mandate.get('/log/checkpoint')).text).to.match(/^mandate\.test\/ledger\n/);
  });

  it('does not start with a key that signs tokens, or that is no Ed25519 key', async () => {
    const { signing, mandate } = logged;
    const wrong: readonly (readonly [string, string])[] = [
      [signing['Service:Signing:Keys:0:Pem'] ?? '', 'is also a key that signs tokens'],
      [pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey), 'is not an Ed25519 key'],
      [pemOf(generateKeyPairSync('x25519').privateKey), 'is not an Ed25519 key'],
      [pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey), 'is not an Ed25519 key'],
      ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', 'is not an Ed25519 private key'],
    ];
    for (const [pem, problem] of wrong) {
      const refused = await mandate
        .another({ 'Service:Audit:Log:Key:Pem': pem })
        .then((other) => other.stop())
        .catch((error: unknown) => String(error));
      expect(refused).to.include('Service:Audit:Log:Key:Pem').and.include(problem).and.not.include(pem.slice(40, 60));
    }
  });
}
