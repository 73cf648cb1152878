/** Listens on the configured address. An error names the wrong setting. */

import { type HttpServer, type HttpServerOptions, startHttpServer } from '../adapters/http/server/server.ts';
import { hasIpv6 } from '../adapters/platform/ipv6.ts';
import type { Log } from '../application/ports/telemetry.ts';
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

/** All addresses of the machine: a socket on `::` accepts IPv4 too, one on `0.0.0.0` only IPv4. */
const EVERY_ADDRESS = '::';
const EVERY_IPV4_ADDRESS = '0.0.0.0';

/** `0.0.0.0` in place of `::` where the machine has no IPv6: one setting suits every cluster. */
export async function hostToListenOn(host: string, log: Log): Promise<string> {
  if (host !== EVERY_ADDRESS || (await hasIpv6())) return host;
  log.info('this machine has no IPv6: listening on 0.0.0.0 in place of ::');
  return EVERY_IPV4_ADDRESS;
}
