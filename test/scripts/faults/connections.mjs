/** A server that tells its parent process of each connection, and of each connection that the client ended. */

import { createServer } from 'node:net';

// Does not close a connection that its client has ended.
const server = createServer({ allowHalfOpen: true }, (connection) => {
  process.send('connected');
  connection.resume().once('end', () => process.send('left'));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
