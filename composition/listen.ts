/** Listens on the configured address. An error names the wrong setting. */

import { type HttpServer, type HttpServerOptions, startHttpServer } from '../adapters/http/server/server.ts';
import { describeListenFault } from './listen-faults.ts';
import type { Settings } from './settings/settings.ts';
import { StartupError } from './settings/startup-error.ts';

/** @param names the settings or options with the address and the port @throws StartupError */
export async function listen(
  { HOST: host, PORT: port }: Pick<Settings, 'HOST' | 'PORT'>,
  options: HttpServerOptions,
  names: { readonly host: string; readonly port: string } = { host: 'HOST', port: 'PORT' },
): Promise<HttpServer> {
  try {
    return await startHttpServer({ host, port }, options);
  } catch (error) {
    const reason = describeListenFault(error, { host, port }, names);
    throw reason === undefined ? error : new StartupError([reason]);
  }
}
