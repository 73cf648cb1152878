/** The keys of an identity provider as the service fetches them, on a moved clock. */

import { discovery } from '../../../adapters/identity-provider/discovery.ts';
import { providerKeys, type RefreshedProviderKeys } from '../../../adapters/jose/provider-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { type CompactJws, readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { type CapturedLog, capturedLog } from '../captured-log.ts';
import { answering, type Loopback, startLoopback } from '../loopback.ts';
import { type MovedClock, movedClock } from '../moved-clock.ts';
import type { SigningKey } from '../signing-key.ts';

interface Fetching {
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  keysOf(issuer: string): RefreshedProviderKeys;
}

/** Has a new clock and a new log in each test. */
export function fetchingForEachTest(): Fetching {
  let clock: MovedClock;
  let log: CapturedLog;
  beforeEach(() => {
    clock = movedClock();
    log = capturedLog();
  });
  return {
    get clock() {
      return clock;
    },
    get log() {
      return log;
    },
    keysOf(issuer) {
      const network = httpNetwork();
      return providerKeys(discovery({ kind: 'issuer', issuer }, network, log), network, clock, log);
    },
  };
}

export const METADATA = '/.well-known/openid-configuration';

interface PublishedDocuments {
  readonly server: Loopback;
  /** By path. */
  documents: Record<string, unknown>;
  publish(...keys: readonly object[]): void;
}

/** A provider that has only its documents. */
export function documentsForEachTest(): PublishedDocuments {
  const provider = {
    publish(...keys: readonly object[]) {
      provider.documents['/keys'] = { keys };
    },
  } as PublishedDocuments & { server: Loopback };
  beforeEach(async () => {
    provider.server = await startLoopback(({ path }, response) =>
      answering(provider.documents[path] ?? {})({} as never, response),
    );
    const { url } = provider.server;
    provider.documents = { [METADATA]: { issuer: url, jwks_uri: `${url}/keys` } };
  });
  afterEach(() => provider.server.close());
  return provider;
}

export function read(token: string) {
  const jws = readCompactJws(token);
  if (jws === undefined) throw new Error('malformed');
  return jws;
}

export const signedBy = (key: SigningKey) => read(key.sign({ alg: key.alg, kid: key.kid }, { sub: 'ada' }));

/** A token that lasts, so its signature is remembered. */
export const lastingToken = (key: SigningKey, clock: MovedClock) =>
  read(key.sign({ alg: key.alg, kid: key.kid }, { sub: 'ada', exp: clock.seconds() + 10_000 }));

/** Only a remembered signature is accepted without a look at the algorithm. */
export const unverifiable = (jws: CompactJws): CompactJws => ({ ...jws, algorithm: 'none' });

export const verdictBy = async (keys: RefreshedProviderKeys, key: SigningKey) =>
  (await keys.verify(signedBy(key))).kind;
