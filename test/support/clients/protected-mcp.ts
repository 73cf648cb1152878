/** An MCP server that takes the tokens of a running service, with the tool-server library in it or the guard in front of it. */

import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { freePort } from '../../../scripts/free-port.ts';
import type { Mandate } from '../mandate.ts';
import { type GuardedMcp, startGuardedMcp } from '../tool-server/guarded-mcp.ts';

export const protections = ['the tool-server library', 'the guard'] as const;
export type Protection = (typeof protections)[number];

/** Its audience is the address of its endpoint, as stock clients demand (RFC 9728 §3.3). It goes by the clock of the service. */
export async function startProtectedMcp(
  { issuer, clock }: Pick<Mandate, 'issuer' | 'clock'>,
  by: Protection = 'the tool-server library',
): Promise<GuardedMcp> {
  const port = await freePort();
  const audience = `http://127.0.0.1:${port}/mcp`;
  const now = () => clock.seconds() * 1000;
  const toolServer = createToolServer({ issuer, audience, clockSkewSeconds: 0, now, onAccess: () => undefined });
  return startGuardedMcp(toolServer, { port, proxied: by === 'the guard' });
}
