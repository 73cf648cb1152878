/** `mandate serve` as a process: its start, its first requests and its end. */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { runCommand, startCommand } from '../support/command-process.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { listen } from '../support/listening.ts';

const good = {
  'Service:Issuer': 'https://mandate.test',
  'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
  'Service:UpstreamIdp:Audience': 'https://mandate.test',
  'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
  'Service:Admin:ApiKey': 'an-admin-key-0123456789-0123456789-0123456789',
  NODE_ENV: 'development',
  PORT: '0',
};

for (const kind of databasesByLength) {
  describe(`Starting mandate serve on ${kind.name}`, () => {
    let database: FreshDatabase;
    before(async () => {
      database = await kind.fresh('absent');
    });
    after(() => database.drop());

    it('exits with 1 without a signing key on a production host', async () => {
      const { code, err } = await runCommand(['serve'], { ...good, ...database.settings, NODE_ENV: 'production' });
      expect(code).to.equal(1);
      expect(err).to.include('Service:Signing:Keys');
    });

    it('exits with 1 without the schema, serves after mandate migrate, and exits with 0 after SIGTERM', async () => {
      const settings = { ...good, ...database.settings };
      const early = await runCommand([], settings);
      expect(early.code).to.equal(1);
      expect(early.err).to.include('run mandate migrate');
      expect((await runCommand(['migrate'], settings)).code).to.equal(0);
      expect((await runCommand(['migrate'], settings)).code).to.equal(0);

      const serving = startCommand(['serve', '--Service:Issuer=https://other.test'], settings);
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

    it('exits with 0 after SIGTERM while the identity provider does not answer', async () => {
      const silent = createServer();
      const provider = `http://127.0.0.1:${await listen(silent)}`;
      const settings = { ...good, ...database.settings, 'Service:UpstreamIdp:Issuer': provider };
      await runCommand(['migrate'], settings);
      const serving = startCommand(['serve'], settings);
      await serving.said('"listening"');
      serving.child.kill('SIGTERM');
      const { code, err } = await serving.ended;
      expect(err).to.equal('');
      expect(code).to.equal(0);
      silent.close();
    });

    it('exits with 2 for an unknown command or option', async () => {
      for (const args of [['no-such-command'], ['serve', '--no-such-option']]) {
        const { code, err } = await runCommand(args, good);
        expect(code).to.equal(2);
        expect(err).to.match(/^mandate: /);
      }
    });
  });
}

describe('Starting mandate serve while Postgres accepts connections and never answers', () => {
  let frozen: Server;
  let port: number;
  const sockets: Socket[] = [];
  before(async () => {
    frozen = createServer((socket) => {
      sockets.push(socket.on('error', () => socket.destroy()));
    });
    port = await listen(frozen);
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    frozen.close();
  });

  it('exits with 0 after SIGTERM before it serves', async () => {
    const isAsked = once(frozen, 'connection');
    const serving = startCommand(['serve'], {
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
