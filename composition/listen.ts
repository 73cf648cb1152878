/** Listens on the configured address. An error names the wrong setting. */

import { type HttpServer, type HttpServerOptions, startHttpServer } from '../adapters/http/server/server.ts';
import type { Settings } from './settings/settings.ts';
import { StartupError } from './settings/startup-error.ts';

/** The system's errors for a port. Address and port are shown, because they are not secret. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be listened on by this user',
};

/** The system's errors for an address. */
const ADDRESS_FAULTS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is a name that does not resolve',
  EAI_AGAIN: 'is a name that does not resolve now',
};

/** @param names the settings or options with the address and the port @throws StartupError */
export async function listen(
  { HOST: host, PORT: port }: Pick<Settings, 'HOST' | 'PORT'>,
  options: HttpServerOptions,
  names: { readonly host: string; readonly port: string } = { host: 'HOST', port: 'PORT' },
): Promise<HttpServer> {
  try {
    return await startHttpServer({ host, port }, options);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const addressFault = ADDRESS_FAULTS[code] && `${names.host} ${ADDRESS_FAULTS[code]}.`;
    const reason = describePortFault(error, port, host, names.port, names.host) ?? addressFault;
    throw reason === undefined ? error : new StartupError([reason]);
  }
}

/** @param setting the setting with the port @returns a sentence; `undefined` for an error that is not about the port */
export function describePortFault(
  error: unknown,
  port: number,
  host: string,
  setting: string,
  hostSetting = 'HOST',
): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const fault = PORT_FAULTS[code];
  return fault && `Port ${port} on ${host} ${fault} (${setting}, ${hostSetting}).`;
}
