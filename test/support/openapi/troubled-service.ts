/** The service with every receiver, on SQLite in memory. Its storage fails if a test says so. */

import type { AdmissionControl } from '../../../adapters/http/admission/admission.ts';
import { type HttpSurfaces, httpApp } from '../../../adapters/http/app.ts';
import { type ServerLimits, startHttpServer } from '../../../adapters/http/server/server.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import { openSqlite } from '../../../adapters/storage/sqlite/open.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { wire } from '../../../composition/container.ts';
import { loadNoteSigner, loadSigningKeys } from '../../../composition/files/signing.ts';
import { openMe } from '../../../composition/pages/me.ts';
import { readSettings } from '../../../composition/settings/read-settings.ts';
import { transparencyLog } from '../../../composition/transparency-log.ts';
import { EVERY_CLIENT } from '../authorize/settings.ts';
import { capturedLog } from '../captured-log.ts';
import { ADMIN_KEY, environmentOf } from '../mandate.ts';
import { type MovedClock, movedClock } from '../moved-clock.ts';
import { TWO_PERSONS } from '../operators.ts';
import { EVERY_RECEIVER } from '../transmitter.ts';
import { logKeySettings } from '../transparency-log.ts';
import { ME_AUDIENCE } from './send-example.ts';

type Trouble = 'storage_unavailable' | 'fault';

export interface TroubledService {
  readonly surfaces: HttpSurfaces;
  readonly clock: MovedClock;
  /** If set, each call of the storage fails with this. */
  trouble: Trouble | undefined;
  /** Serves, with these endpoints in place of its own. Resolves with the address. */
  serve(changes?: Partial<HttpSurfaces>, limits?: Partial<ServerLimits>): Promise<string>;
  /** Admission control with these limits. Without any, it limits nothing. */
  admission(limits: Partial<Pick<AdmissionControl, 'rates' | 'limiters' | 'clock'>>): AdmissionControl;
  stop(): Promise<void>;
}

export async function troubledService(given: Readonly<Record<string, string>>): Promise<TroubledService> {
  const settings = settingsFrom(given);
  const [clock, log, randomness, network] = [movedClock(), capturedLog(), systemRandomness(), httpNetwork()];
  const storage = await openSqlite({ path: ':memory:' }, { clock, log });
  await storage.migrate();
  const servers: { stop(lingerMs: number): Promise<void> }[] = [];
  const signingKeys = await loadSigningKeys(settings, log);
  const noteSigner = await loadNoteSigner(settings, signingKeys);
  const opened = failing(storage, () => service.trouble);
  const parts = wire({
    settings,
    clock,
    monotonic: clock.monotonic,
    randomness,
    log,
    network,
    measurements: undefined,
    tracing: undefined,
    opened,
    signingKeys,
    noteSigner,
    openConsole: undefined,
    openLog: transparencyLog,
    openMe: (needed) => openMe(needed, { clientSecret: undefined, scopeWords: new Map() }),
    openAuthorize: undefined,
  });
  const service: TroubledService = {
    surfaces: parts.surfaces,
    clock,
    trouble: undefined,
    admission: (limits) => ({ ...parts.surfaces.admission, rates: undefined, limiters: undefined, ...limits }),
    async serve(changes = {}, limits) {
      const surfaces = { ...parts.surfaces, admission: service.admission({}), ...changes };
      const server = await startHttpServer(
        { host: '127.0.0.1', port: 0 },
        {
          ...httpApp(surfaces),
          log,
          ...(limits && { limits }),
        },
      );
      servers.push(server);
      return `http://127.0.0.1:${server.address.port}`;
    },
    async stop() {
      for (const server of servers) await server.stop(0);
      parts.providerKeys.stop();
      parts.transmitterKeys?.stop();
      await storage.close();
    },
  };
  return service;
}

function settingsFrom(given: Readonly<Record<string, string>>) {
  const environment = environmentOf({
    'Service:Issuer': 'https://mandate.example',
    'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
    'Service:UpstreamIdp:Audience': 'https://mandate.example',
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:Database:Provider': 'sqlite',
    'Service:Database:Path': 'unused.db',
    'Service:Admin:ApiKey': ADMIN_KEY,
    'Service:StatusLists:Enabled': 'true',
    'Service:Delegation:Enabled': 'true',
    ...logKeySettings(),
    'Service:Me:Audience': ME_AUDIENCE,
    NODE_ENV: 'development',
    ...EVERY_RECEIVER,
    ...TWO_PERSONS,
    ...EVERY_CLIENT,
    ...given,
  });
  const result = readSettings({ environment, overrides: [] });
  if (result.kind === 'invalid') throw new Error(JSON.stringify(result.errors));
  return result.settings;
}

/** Wraps an object and its parts, so that each method rejects while there is trouble. */
function failing<Part extends object>(part: Part, trouble: () => Trouble | undefined): Part {
  return new Proxy(part, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member === 'object' && member !== null) return failing(member, trouble);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        const now = trouble();
        if (now === undefined) return Reflect.apply(member, target, given);
        return Promise.reject(now === 'fault' ? new TypeError('a bug') : new StorageUnavailable('away'));
      };
    },
  });
}
