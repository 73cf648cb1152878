/** The guard on its port, with a tool server that the test made. */

import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { guardMode } from '../../../adapters/sdk/tool-server/guard/guard.ts';
import { startGuardServer } from '../../../adapters/sdk/tool-server/guard/guard-server.ts';
import type { GuardConfiguration } from '../../../adapters/sdk/tool-server/guard/read-configuration.ts';
import type { GuardedApp } from './guarded-apps.ts';

/** Stops without a wait for load balancers. */
export const STOPPING = { lingerMs: 0, drainMs: 2000 };

export async function serveGuard(toolServer: ToolServer, configuration: GuardConfiguration): Promise<GuardedApp> {
  const onError = () => undefined;
  const mode = guardMode(toolServer, configuration, onError);
  const server = await startGuardServer(configuration.listen, { ...mode, onError, stopping: STOPPING });
  return {
    url: `http://127.0.0.1:${server.address.port}`,
    async stop() {
      await server.stop();
      mode.close();
    },
  };
}
