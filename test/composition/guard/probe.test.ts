import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { probe } from '../../../composition/guard/probe.ts';
import { freePort } from '../../../scripts/free-port.ts';
import { closeServer, listen } from '../../support/listening.ts';
import { answering, loopbackForSuite, startLoopback } from '../../support/loopback.ts';

/** @returns `undefined` if the port is taken */
function startOn(port: number): Promise<Server | undefined> {
  const server = createHttpServer((_, response) => response.end());
  return listen(server, port).then(
    () => server,
    () => undefined,
  );
}

describe('The probe of an upstream', () => {
  const upstream = loopbackForSuite();
  const probed = (url: string) => probe(new URL(url));

  it('asks at the address without a token', async () => {
    await probed(`${upstream.url}/a`);
    expect(upstream.received.map(({ path, headers }) => [path, headers.authorization])).to.deep.equal([
      ['/a', undefined],
    ]);
  });

  it('warns of every answer but 401 and 403, and follows no redirect', async () => {
    upstream.answer = (_, response) => response.writeHead(302, { location: '/login' }).end();
    expect(await probed(upstream.url))
      .to.deep.include({ isOpen: true })
      .and.property('sentence')
      .to.include('with 302');
    for (const status of [401, 403]) {
      upstream.answer = answering({}, status);
      expect(await probed(upstream.url)).to.deep.equal({
        isOpen: false,
        sentence: `The address of --probe refuses a request without a token with ${status}.`,
      });
    }
  });

  it('does not warn of an address where nothing listens', async () => {
    expect(await probed(`http://127.0.0.1:${await freePort()}`)).to.deep.equal({
      isOpen: false,
      sentence: 'The address of --probe cannot be reached from here (ECONNREFUSED).',
    });
  });

  it('tells of every port, also of those that a browser refuses, and of a server of another protocol', async () => {
    // Both are in the list of bad ports of Fetch.
    for (const port of [6000, 10080]) {
      const server = await startOn(port);
      // Another program of this machine has it.
      if (server === undefined) continue;
      expect(await probed(`http://127.0.0.1:${port}`)).to.deep.include({ isOpen: true });
      await closeServer(server);
      expect(await probed(`http://127.0.0.1:${port}`)).to.deep.equal({
        isOpen: false,
        sentence: 'The address of --probe cannot be reached from here (ECONNREFUSED).',
      });
    }
    const mail = createServer((socket) => void socket.on('error', () => undefined).end('220 mail.example\r\n'));
    try {
      expect(await probed(`http://127.0.0.1:${await listen(mail)}`)).to.deep.equal(unclear('HPE_INVALID_CONSTANT'));
    } finally {
      mail.close();
    }
  });

  const unclear = (code: string) => ({
    isOpen: true,
    sentence: `The address of --probe gave no answer that tells (${code}): check it by hand.`,
  });

  it('warns of a server that closes the connection', async () => {
    upstream.answer = (_, response) => response.destroy();
    expect(await probed(upstream.url)).to.deep.equal(unclear('ECONNRESET'));
  });

  it('warns of a server whose certificate it does not know', async () => {
    const secure = await startLoopback(answering({}, 200), { tls: true });
    try {
      expect(await probed(secure.url)).to.deep.equal(unclear('UNABLE_TO_VERIFY_LEAF_SIGNATURE'));
    } finally {
      await secure.close();
    }
  });
});
