/** Whether this machine has IPv6. A kernel can be built or started without it, and a sandbox can withhold it. */

import { once } from 'node:events';
import { createServer } from 'node:net';

/** The system's errors for a socket of IPv6 where it has none (socket(2), ip(7)). */
const WITHOUT_IPV6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/** Listens for a moment on `::` and any free port. @throws nothing: any other error is for the real attempt to report */
export async function hasIpv6(): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host: '::', port: 0 });
    await once(server, 'listening');
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && WITHOUT_IPV6.includes(error.code));
  } finally {
    server.close();
  }
}
