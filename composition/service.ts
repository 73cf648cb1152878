/** The running service: everything opened in order, and closed in the opposite one (decisions "How it runs"). */

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
  const storage = await openStorage(settings, { clock, log });
  try {
    await refuseOldSchema(storage, log);
    const given = { settings, clock, randomness: systemRandomness(), log, network, storage, signingKeys };
    const container = buildContainer(given);
    const providerKeys = container.resolve(tokens.providerKeys);
    const app = httpApp(container.resolve(tokens.httpSurfaces));
    // A provider that is slow or down holds up readiness, not the start.
    void providerKeys.start();
    const listener = await listen(app, { host: settings.HOST, port: settings.PORT });
    log.info('listening', { host: listener.host, port: listener.port, issuer: settings['Service:Issuer'] });
    return {
      host: listener.host,
      port: listener.port,
      storage,
      stop: () => stop(listener, providerKeys, storage, log),
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

async function stop(listener: Listener, providerKeys: { stop(): void }, storage: Storage, log: Log): Promise<void> {
  log.info('stopping: no new requests, finishing those under way');
  await listener.stop();
  providerKeys.stop();
  await storage.close();
  log.info('stopped');
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
