/** A process that takes connections, says of each that it has it, and when its client has left it. */

import { createServer } from 'node:net';

// Whoever is left by its client keeps its end.
const server = createServer({ allowHalfOpen: true }, (connection) => {
  process.send('connected');
  connection.resume().once('end', () => process.send('left'));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
