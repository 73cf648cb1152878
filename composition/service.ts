/** The running service: everything opened in order, and closed in the opposite one (decisions "How it runs"). */

import { existsSync } from 'node:fs';
import { httpApp } from '../adapters/http/app.ts';
import { type Listener, listen } from '../adapters/http/server.ts';
import { httpNetwork } from '../adapters/network/http-network.ts';
import type { Storage } from '../adapters/persistence/storage.ts';
import { systemClock } from '../adapters/system/system-clock.ts';
import { systemRandomness } from '../adapters/system/system-randomness.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Log } from '../application/ports/log.ts';
import type { Network } from '../application/ports/network.ts';
import { StorageUnavailable } from '../application/ports/storage-unavailable.ts';
import { buildContainer } from './container.ts';
import { openStorage } from './open-storage.ts';
import { startPartitionUpkeep } from './partition-upkeep.ts';
import type { Settings } from './settings/read-settings.ts';
import { loadSigningKeys } from './signing.ts';
import { StartupError } from './startup-error.ts';
import { tokens } from './tokens.ts';

/** What the service takes from its surroundings; tests give their own clock. */
export interface Surroundings {
  readonly log: Log;
  readonly clock?: Clock;
  readonly network?: Network;
}

export interface Service {
  readonly host: string;
  readonly port: number;
  readonly storage: Storage;
  /** Finishes what is under way, then closes everything. */
  stop(): Promise<void>;
}

/** @throws StartupError when it must not start: an unusable signing key, a schema that is not current */
export async function startService(settings: Settings, surroundings: Surroundings): Promise<Service> {
  const { log, clock = systemClock(), network = httpNetwork() } = surroundings;
  const signingKeys = await loadSigningKeys(settings, log);
  refuseMissingFile(settings);
  const storage = await openStorage(settings, { clock, log });
  try {
    await refuseOldSchema(storage, log);
    const given = { settings, clock, randomness: systemRandomness(), log, network, storage, signingKeys };
    const container = buildContainer(given);
    const providerKeys = container.resolve(tokens.providerKeys);
    const app = httpApp(container.resolve(tokens.httpSurfaces));
    const listener = await listenAt(app, settings);
    // A provider that is slow or down holds up readiness, not the start.
    void providerKeys.start();
    const upkeep = startPartitionUpkeep(storage, clock, log, settings['Service:Audit:Partitions:MonthsAhead']);
    log.info('listening', { host: listener.host, port: listener.port, issuer: settings['Service:Issuer'] });
    return {
      host: listener.host,
      port: listener.port,
      storage,
      stop: () => stop(listener, [providerKeys, upkeep], storage, log),
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** What the system says of an address that can't be listened on, and the setting that named it. */
const ADDRESS_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'PORT is in use on HOST already.',
  EACCES: 'PORT may not be listened on by this user.',
  EADDRNOTAVAIL: 'HOST is no address of this machine.',
  ENOTFOUND: 'HOST is a name that does not resolve.',
  EAI_AGAIN: 'HOST is a name that does not resolve now.',
};

async function listenAt(app: Parameters<typeof listen>[0], settings: Settings): Promise<Listener> {
  try {
    return await listen(app, { host: settings.HOST, port: settings.PORT });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = ADDRESS_FAULTS[code];
    throw reason === undefined ? error : new StartupError([reason]);
  }
}

async function stop(
  listener: Listener,
  timers: readonly { stop(): void }[],
  storage: Storage,
  log: Log,
): Promise<void> {
  log.info('stopping: no new requests, finishing those under way');
  await listener.stop();
  for (const timer of timers) timer.stop();
  await storage.close();
  log.info('stopped');
}

/** Opening a SQLite file creates it: an empty one, left behind by a path that was mistyped, helps nobody. */
function refuseMissingFile(settings: Settings): void {
  const path = settings['Service:Database:Path'];
  if (path !== undefined && path !== ':memory:' && !existsSync(path)) {
    throw new StartupError(['Service:Database:Path (Service__Database__Path) names no file: run mandate migrate.']);
  }
}

/** A schema this release does not know is not written to. A database that is away may come back: not ready, but up. */
async function refuseOldSchema(storage: Storage, log: Log): Promise<void> {
  try {
    const status = await storage.schemaStatus();
    if (status === 'absent' || status === 'behind') {
      throw new StartupError([
        `The database schema is ${status === 'absent' ? 'not there' : 'not current'}: run mandate migrate.`,
      ]);
    }
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    log.error('the database does not answer yet', error);
  }
}
