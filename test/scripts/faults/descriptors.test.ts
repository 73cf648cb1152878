import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { descriptorsOf } from '../../../scripts/faults/stage/descriptors.ts';

describe('the descriptors of a process', () => {
  let server: Server;
  let port: number;
  const taken: Socket[] = [];
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    // Whoever is left by its client keeps its end.
    server = createServer({ allowHalfOpen: true }, (connection) => taken.push(connection.resume())).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  after(() => {
    for (const connection of taken) connection.destroy();
    server?.close();
  });

  const connected = async () => {
    const accepted = once(server, 'connection');
    const client = connect(port, '127.0.0.1');
    await Promise.all([accepted, once(client, 'connect')]);
    return client;
  };

  it('are connections of clients as long as these have them open, and then its own', async () => {
    const before = descriptorsOf(process.pid, port);
    expect(before).to.include({ clients: 0 }).and.to.have.property('own').that.is.above(0);
    const [first, second] = [await connected(), await connected()];
    // The other ends are in this process as well.
    expect(descriptorsOf(process.pid, port)).to.deep.equal({ clients: 2, own: before.own + 2 });
    const left = once(taken[0] as Socket, 'end');
    first.destroy();
    await Promise.all([left, once(first, 'close')]);
    expect(descriptorsOf(process.pid, port)).to.deep.equal({ clients: 1, own: before.own + 2 });
    second.destroy();
  });
});
