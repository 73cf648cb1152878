import { once } from 'node:events';
import { connect, Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { acceptConnections } from '../../../adapters/http/connections.ts';

describe('an address that is listened on no longer', () => {
  it('has handed over every connection that the system had let in: none of them is reset', async () => {
    const taken: Socket[] = [];
    const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (connection) => {
      taken.push(connection);
    });
    const clients = Array.from({ length: 30 }, () => connect(connections.address.port, '127.0.0.1'));
    const faults: unknown[] = [];
    for (const client of clients) client.on('error', (error) => faults.push(error));
    // The event loop takes one of them in a turn, and is at the first.
    await Promise.race(clients.map((client) => once(client, 'connect')));
    await connections.close();
    for (const connection of taken) connection.end('served');
    await Promise.all(clients.map((client) => once(client.resume(), 'close')));
    expect(faults).to.deep.equal([]);
    expect(taken).to.have.length(30);
  });
});

describe('an address that is listened on', () => {
  it('goes on to be, though the system could not accept one connection after the other', async () => {
    const taken: Socket[] = [];
    const { listen } = Server.prototype;
    const servers: Server[] = [];
    Server.prototype.listen = function listenSeen(this: Server, ...at: unknown[]) {
      servers.push(this);
      return Reflect.apply(listen, this, at);
    } as typeof listen;
    const connections = await acceptConnections({ host: '127.0.0.1', port: 0 }, (connection) => {
      taken.push(connection);
    });
    Server.prototype.listen = listen;
    for (const code of ['ENFILE', 'ENOBUFS']) {
      servers[0]?.emit('error', Object.assign(new Error(`accept ${code}`), { code }));
    }
    const client = connect(connections.address);
    await once(client, 'connect');
    client.destroy();
    await connections.close();
    for (const connection of taken) connection.destroy();
    expect(taken).to.have.length(1);
  });
});
