/** The doctor's view of identity providers and other signers, read with the service's own adapters. */

import { randomUUID } from 'node:crypto';
import type { TriedClient } from '../../adapters/identity-provider/client-trial.ts';
import { discovery, type ProviderLocation } from '../../adapters/identity-provider/discovery.ts';
import { polledSponsors } from '../../adapters/identity-provider/polled-sponsors.ts';
import { fixedToken, serviceAssertion, serviceTokens } from '../../adapters/identity-provider/service-token.ts';
import { providerKeys } from '../../adapters/jose/provider-keys.ts';
import { httpNetwork } from '../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../adapters/platform/system-crypto.ts';
import { EXAMINATION_LIMIT_MS } from '../../application/doctor/examine.ts';
import { observedNetwork, recordingLog } from '../../application/doctor/observation.ts';
import type { Signer } from '../../application/doctor/provider.ts';
import type { SponsorQueries } from '../../application/doctor/sponsors.ts';
import type { ClientTrial, ProviderDescription, ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { ProviderKeys, SigningKeys } from '../../application/ports/keys.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import { type SponsorCheckChoice, upstreamChoice } from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';

/** How the doctor sends requests to other servers. */
export interface NetworkAccess {
  readonly network: Network;
  readonly clock: Clock;
  /** The time limit in milliseconds for all requests to one server together. */
  readonly limitMs: number;
}

/** Shorter than the examination's own limit: the finding can then still name the request that did not end. */
const NETWORK_LIMIT_MS = EXAMINATION_LIMIT_MS - 500;

export function networkAccess(clock: Clock): NetworkAccess {
  return { network: httpNetwork(), clock, limitMs: NETWORK_LIMIT_MS };
}

export interface ObservedSigner extends Signer {
  readonly keys: ProviderKeys;
  readonly provider: ProviderMetadata;
}

/** Reads a signer's metadata and keys with the service's own adapters. */
export function observedSigner(location: ProviderLocation, access: NetworkAccess): ObservedSigner {
  const { clock, limitMs } = access;
  const network = observedNetwork(access.network, clock, limitMs);
  const log = recordingLog();
  const provider = discovery(location, network, log);
  const owner = location.kind === 'transmitter' ? 'transmitter' : 'identity provider';
  const keys = providerKeys(provider, network, clock, log, undefined, owner);
  let reading: Promise<ProviderDescription | undefined> | undefined;
  const metadata = (): Promise<ProviderDescription | undefined> => {
    reading ??= provider.refresh();
    return reading;
  };
  return {
    address: location.kind === 'metadata_url' ? location.url : location.issuer,
    metadata,
    async fetchKeys() {
      await metadata();
      await keys.refreshIfDue();
      return keys.lastFetchedAt() !== undefined;
    },
    unusedKeys: () => log.unused(),
    problem: () => ({ sentence: log.problem(), status: network.lastStatus('') }),
    ahead: () => network.ahead(''),
    keys,
    provider,
  };
}

export function identityProvider(
  upstream: SettingsSection<'Service:UpstreamIdp'>,
  access: NetworkAccess,
): ObservedSigner {
  const chosen = upstreamChoice(upstream);
  return observedSigner(chosen.kind === 'issuer' ? chosen : { kind: 'metadata_url', url: chosen.url }, access);
}

/** Enough for a user with many attributes, as in the sponsor check. */
const MAX_BYTES = 256 * 1024;

/** Queries the identity provider about people with the service's own adapters. */
export function sponsorQueries(
  chosen: SponsorCheckChoice & { readonly mode: 'poll' },
  signingKeys: SigningKeys,
  { provider, metadata }: Pick<ObservedSigner, 'provider' | 'metadata'>,
  access: NetworkAccess,
): Omit<SponsorQueries, 'publishesKeys'> {
  const { clock } = access;
  const network = observedNetwork(access.network, clock, access.limitMs);
  const log = recordingLog();
  const { access: way } = chosen;
  const client = 'bearerToken' in way ? undefined : way;
  const assertion = serviceAssertion(signingKeys, clock, systemRandomness());
  const tokens =
    'bearerToken' in way
      ? fixedToken(way.bearerToken)
      : serviceTokens(way, { network, clock, metadata: provider, assertion });
  const unknownId = randomUUID();
  return {
    needsMetadata: client?.assertionAudience === 'issuer',
    addresses: [chosen.usersUrl, ...(client === undefined ? [] : [client.tokenUrl])],
    hasBearerToken: client === undefined,
    metadata,
    async requestToken() {
      const answer = await tokens.current();
      return answer.kind === 'token' ? undefined : answer.problem;
    },
    directory: polledSponsors(chosen.usersUrl, { network, clock, log, tokens }),
    unknownId,
    problem: () => ({ sentence: log.problem(), status: network.lastStatus(chosen.usersUrl) }),
    tokenStatus: () => client && network.lastStatus(client.tokenUrl),
    async knowsPaths() {
      const service = await tokens.current();
      if (service.kind !== 'token') return true;
      const headers = { authorization: `Bearer ${service.token}`, accept: 'application/json' };
      const folder = chosen.usersUrl.replace(/\/+$/, '');
      const answerTo = async (id: string, path: string) => {
        const limits = { timeoutMs: access.limitMs, maxBytes: MAX_BYTES };
        const { status, body } = await network.send({ method: 'GET', url: `${folder}${path}`, headers, ...limits });
        // A server may repeat the path or the id, and name the time.
        return `${status} ${body.replaceAll(`/${id}`, '').replaceAll(id, '').replace(/\d/g, '')}`;
      };
      const anotherId = randomUUID();
      const answers = await Promise.all([
        answerTo(unknownId, `/${unknownId}`),
        answerTo(anotherId, `/${anotherId}`),
        answerTo(unknownId, `/${unknownId}/${unknownId}`),
      ]).catch(noAnswers);
      if (answers === undefined) return true;
      const [ofPerson, ofAnother, ofPath] = answers;
      // If two ids are answered differently, as with the id of the request, a difference from the path proves nothing.
      return ofPerson === ofAnother && ofPerson !== ofPath;
    },
  };
}

function noAnswers(error: unknown): undefined {
  if (!(error instanceof NetworkFailure)) throw error;
  return undefined;
}

/** Tries the client of a sign-in with the service's own adapters, whose code is loaded only with that client. */
export async function clientTrial(
  client: TriedClient,
  document: JsonObject,
  signingKeys: SigningKeys | undefined,
  { network, clock, limitMs }: NetworkAccess,
): Promise<ClientTrial | 'no_key'> {
  if (client.clientSecret === undefined && signingKeys === undefined) return 'no_key';
  const { tryClient } = await import('../../adapters/identity-provider/client-trial.ts');
  const randomness = systemRandomness();
  const assertion = signingKeys === undefined ? async () => '' : serviceAssertion(signingKeys, clock, randomness);
  return tryClient(client, document, { network: observedNetwork(network, clock, limitMs), assertion, randomness });
}
