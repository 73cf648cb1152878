/** A server that reports to its parent each connection, and each end of a connection by its client. */

import { createServer } from 'node:net';

// Keeps its end of a connection open.
const server = createServer({ allowHalfOpen: true }, (connection) => {
  process.send('connected');
  connection.resume().once('end', () => process.send('left'));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
