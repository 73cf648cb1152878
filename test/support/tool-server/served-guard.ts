/** The guard on its port, with a tool server that the test made. */

import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import type { GuardConfiguration } from '../../../adapters/sdk/tool-server/guard/configuration.ts';
import { guardMode, handlerOf } from '../../../adapters/sdk/tool-server/guard/guard.ts';
import { guardServer } from '../../../composition/guard/guard-server.ts';
import { capturedLog } from '../captured-log.ts';
import type { GuardedApp } from './guarded-apps.ts';

/** The server of the guard. It stops without a wait for gateways. */
export const startServer = guardServer(capturedLog(), { lingerMs: 0, limits: { drainMs: 2000 } });

export async function serveGuard(toolServer: ToolServer, configuration: GuardConfiguration): Promise<GuardedApp> {
  const onError = () => undefined;
  const mode = guardMode(toolServer, configuration, onError);
  const server = await startServer(configuration.listen, handlerOf(mode, onError));
  return {
    url: `http://127.0.0.1:${server.address.port}`,
    async stop() {
      await server.stop();
      mode.close();
    },
  };
}
