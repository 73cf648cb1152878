/** Listens at the address of the settings, or says which of them is wrong. */

import { type HttpServer, type HttpServerOptions, startHttpServer } from '../adapters/http/server/server.ts';
import type { Settings } from './settings/read-settings.ts';
import { StartupError } from './startup-error.ts';

/** The system's error codes for an address that cannot be listened on. */
const ADDRESS_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'PORT is in use on HOST already.',
  EACCES: 'PORT may not be listened on by this user.',
  EADDRNOTAVAIL: 'HOST is no address of this machine.',
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
    const reason = ADDRESS_FAULTS[code];
    throw reason === undefined ? error : new StartupError([reason]);
  }
}
