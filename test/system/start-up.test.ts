/** The process as an operator starts it: from the command line, with settings right and wrong. */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { variableOf } from '../../composition/startup-error.ts';
import { startCommand as start } from '../support/command-process.ts';
import { databases, type FreshDatabase } from '../support/databases.ts';

const SECRET = 'a-value-that-nobody-may-read-0123456789';

const good = {
  'Service:Issuer': 'https://mandate.test',
  'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
  'Service:UpstreamIdp:Audience': 'https://mandate.test',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  'Service:Admin:ApiKey': SECRET,
  NODE_ENV: 'development',
  PORT: '0',
};

for (const kind of databases) {
  describe(`starting up on ${kind.name}`, () => {
    let database: FreshDatabase;
    before(async () => {
      database = await kind.fresh('absent');
    });
    after(() => database.drop());

    it('names every wrong setting at once, by key and variable, and repeats no value', async () => {
      const wrong = {
        ...good,
        ...database.settings,
        'Service:Issuer': `ftp://${SECRET}`,
        'Service:Tokens:DefaultTaskTtl': `P1Y-${SECRET}`,
        'Service:Admin:ApiKey': SECRET.slice(0, 31),
        'Service:UpstreamIdp:SponsorCheck:ClientId': SECRET,
      };
      const { code, err, out } = await start(['serve'], wrong).ended;
      expect(code).to.equal(1);
      for (const key of ['Service:Issuer', 'Service:Tokens:DefaultTaskTtl', 'Service:Admin:ApiKey']) {
        expect(err).to.include(`${key} (${variableOf(key)})`);
      }
      expect(err).to.include('Service:UpstreamIdp:SponsorCheck:ClientId');
      expect(`${out}${err}`).not.to.include(SECRET.slice(0, 16));
    });

    it('refuses a signing key that is none, without showing it', async () => {
      const settings = { ...good, ...database.settings, 'Service:Signing:Keys:0:Pem': `-----BEGIN ${SECRET}` };
      const { code, err, out } = await start(['serve'], settings).ended;
      expect(code).to.equal(1);
      expect(err).to.include('Service:Signing:Keys:0:Pem (Service__Signing__Keys__0__Pem)');
      expect(`${out}${err}`).not.to.include(SECRET.slice(0, 16));
    });

    it('refuses to make a signing key up on any but a development host', async () => {
      const { code, err } = await start(['serve'], { ...good, ...database.settings, NODE_ENV: 'production' }).ended;
      expect(code).to.equal(1);
      expect(err).to.include('Service:Signing:Keys');
    });

    it('refuses a schema that is not there and says what to run; migrate makes it; then it serves, and stops on SIGTERM', async () => {
      const settings = { ...good, ...database.settings };
      const early = await start([], settings).ended;
      expect(early.code).to.equal(1);
      expect(early.err).to.include('run mandate migrate');
      expect((await start(['migrate'], settings).ended).code).to.equal(0);
      expect((await start(['migrate'], settings).ended).code).to.equal(0);

      const serving = start(['serve', '--Service:Issuer=https://other.test'], settings);
      const line = (await serving.said('"listening"')).split('\n').find((one) => one.includes('"listening"')) ?? '';
      const { port, issuer } = JSON.parse(line) as { port: number; issuer: string };
      expect(issuer).to.equal('https://other.test');
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).to.equal(200);
      serving.child.kill('SIGTERM');
      const { code, out, err } = await serving.ended;
      expect(code).to.equal(0);
      expect(err).to.equal('');
      for (const one of out.trim().split('\n'))
        expect(JSON.parse(one)).to.include.keys('level', 'message', 'timestamp');
    });

    it('names HOST or PORT when it can not listen there, and leaves no stack', async () => {
      const settings = { ...good, ...database.settings };
      await start(['migrate'], settings).ended;
      const taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      const address = taken.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      for (const [wrong, named] of [
        [{ PORT: String(port) }, `Port ${port} on 127\\.0\\.0\\.1 is already in use \\(PORT, HOST\\)\\.`],
        [{ HOST: 'no-such-host.invalid' }, 'HOST is a name that does not resolve'],
        [{ HOST: '192.0.2.1' }, 'HOST is not an address of this machine'],
      ] as const) {
        const { code, err, out } = await start(['serve'], { ...settings, ...wrong }).ended;
        expect(code).to.equal(1);
        expect(err).to.match(new RegExp(`^mandate: ${named}`));
        expect(`${out}${err}`).not.to.match(/\n +at |node:internal/);
      }
      await new Promise((resolve) => taken.close(resolve));
    });

    it('stops in order while the identity provider leaves its first question unanswered', async () => {
      const silent = createServer();
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const address = silent.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const settings = { ...good, ...database.settings, 'Service:UpstreamIdp:Issuer': `http://127.0.0.1:${port}` };
      await start(['migrate'], settings).ended;
      const serving = start(['serve'], settings);
      await serving.said('"listening"');
      serving.child.kill('SIGTERM');
      const { code, err } = await serving.ended;
      expect(err).to.equal('');
      expect(code).to.equal(0);
      silent.close();
    });

    it('refuses commands and options it does not have with exit code 2', async () => {
      for (const args of [['no-such-command'], ['serve', '--no-such-option']]) {
        const { code, err } = await start(args, good).ended;
        expect(code).to.equal(2);
        expect(err).to.match(/^mandate: /);
      }
    });
  });
}

describe('starting up while Postgres accepts connections and says nothing', () => {
  let frozen: Server;
  const sockets: Socket[] = [];
  before(async () => {
    frozen = createServer((socket) => {
      sockets.push(socket.on('error', () => socket.destroy()));
    });
    await once(frozen.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    frozen.close();
  });

  it('ends in order with 0 when it is told to stop before it serves', async () => {
    const address = frozen.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const isAsked = once(frozen, 'connection');
    const serving = start(['serve'], {
      ...good,
      'Service:Database:ConnectionString': `postgresql://somebody@127.0.0.1:${port}/mandate`,
    });
    await isAsked;
    serving.child.kill('SIGTERM');
    const { code, out, err } = await serving.ended;
    expect([code, err]).to.deep.equal([0, '']);
    expect(out).to.include('"stopped"');
  });
});
