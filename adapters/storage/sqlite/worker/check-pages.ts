/** The entry of a process that checks the pages of a SQLite file (`large-file-check.ts`), reports the fault, and ends. */

import { openConnection } from '../connection.ts';
import { serializeError } from './errors.ts';
import type { PageReport } from './large-file-check.ts';
import { checkPages } from './page-check.ts';

// A terminal sends its signals to all processes of the service. The service ends this one.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

async function faultIn(path: string): Promise<PageReport['fault']> {
  try {
    const connection = await openConnection(path, 'read');
    try {
      await checkPages(connection);
    } finally {
      await connection.close();
    }
  } catch (error) {
    return serializeError(error);
  }
  return undefined;
}

const report: PageReport = { fault: await faultIn(process.argv[2] ?? '') };
if (process.connected) process.send?.(report, () => process.disconnect());
