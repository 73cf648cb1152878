/** Listens at the address of the settings, or says which of them is wrong. */

import { type HttpServer, type HttpServerOptions, startHttpServer } from '../adapters/http/server/server.ts';
import type { Settings } from './settings/read-settings.ts';
import { StartupError } from './startup-error.ts';

/** What the system says of a port that can't be listened on. Address and port are shown: they are no secrets. */
const PORT_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be listened on by this user',
};

/** What the system says of an address that can't be listened on. */
const ADDRESS_FAULTS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'HOST is not an address of this machine.',
  ENOTFOUND: 'HOST is a name that does not resolve.',
  EAI_AGAIN: 'HOST is a name that does not resolve now.',
};

/** @throws StartupError */
export async function listen(
  { HOST: host, PORT: port }: Pick<Settings, 'HOST' | 'PORT'>,
  options: HttpServerOptions,
): Promise<HttpServer> {
  try {
    return await startHttpServer({ host, port }, options);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = describePortFault(error, port, host, 'PORT') ?? ADDRESS_FAULTS[code];
    throw reason === undefined ? error : new StartupError([reason]);
  }
}

/**
 * @param setting the one that names the port
 * @returns a sentence; `undefined` for an error that is not about the port
 */
export function describePortFault(error: unknown, port: number, host: string, setting: string): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const fault = PORT_FAULTS[code];
  return fault && `Port ${port} on ${host} ${fault} (${setting}, HOST).`;
}
