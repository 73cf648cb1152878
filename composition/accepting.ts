/** Connections at the address of the settings, or the reason why there can be none. */

import type { Socket } from 'node:net';
import { acceptConnections, type Connections } from '../adapters/http/connections.ts';
import type { Settings } from './settings/read-settings.ts';
import { StartupError } from './startup-error.ts';

/** What the system says of an address that can't be listened on, and the setting that named it. */
const ADDRESS_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'PORT is in use on HOST already.',
  EACCES: 'PORT may not be listened on by this user.',
  EADDRNOTAVAIL: 'HOST is no address of this machine.',
  ENOTFOUND: 'HOST is a name that does not resolve.',
  EAI_AGAIN: 'HOST is a name that does not resolve now.',
};

/** @throws StartupError */
export async function accepting(
  settings: Pick<Settings, 'HOST' | 'PORT'>,
  take: (connection: Socket) => void,
): Promise<Connections> {
  try {
    return await acceptConnections({ host: settings.HOST, port: settings.PORT }, take);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = ADDRESS_FAULTS[code];
    throw reason === undefined ? error : new StartupError([reason]);
  }
}
