/** Where the thread of a SQLite database begins: opens it and serves what the main thread calls for. */

import { parentPort, workerData } from 'node:worker_threads';
import { openConnections } from './connections.ts';
import type { SqliteOptions } from './open.ts';
import { served } from './served.ts';
import { serveCalls } from './thread/serve-calls.ts';

if (parentPort === null) throw new Error('This is the beginning of a thread, not of a program.');
const { path, readOnly = false }: SqliteOptions = workerData;

await serveCalls(parentPort, async (log) => {
  const connections = openConnections(path, log, readOnly ? 'read' : 'write');
  try {
    // The least that shows whether it is a database: without it a file is not even looked at.
    await connections.read((run) => run('select count(*) from sqlite_schema'));
  } catch (error) {
    await connections.close();
    throw error;
  }
  return { served: served(connections), close: connections.close };
});
