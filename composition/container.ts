/**
 * The wiring: the one place that knows every adapter. Each token has one plain factory; a container holds one of each.
 * What takes time to get ready (the database, the signing keys) is given ready.
 */

import 'reflect-metadata';
import { type DependencyContainer, type InjectionToken, instanceCachingFactory, container as root } from 'tsyringe';
import { circuit } from '../adapters/identity-provider/circuit.ts';
import { discovery, type ProviderLocation } from '../adapters/identity-provider/discovery.ts';
import { polledSponsors } from '../adapters/identity-provider/polled-sponsors.ts';
import { serviceAssertion } from '../adapters/identity-provider/service-assertion.ts';
import { serviceTokens } from '../adapters/identity-provider/service-token.ts';
import { agentKeys } from '../adapters/jose/agent-keys.ts';
import { checkpointVerifier } from '../adapters/jose/checkpoint-verifier.ts';
import { providerKeys } from '../adapters/jose/provider-keys.ts';
import type { Storage } from '../adapters/persistence/storage.ts';
import { httpSink } from '../adapters/sink/http-sink.ts';
import { eventLoopTurn } from '../adapters/system/event-loop-turn.ts';
import { sha256Bytes } from '../adapters/system/sha256.ts';
import { type AnonymousDenials, anonymousDenials } from '../application/ledger/anonymous-denials.ts';
import { measuredAnonymousDenials, measuredDenials } from '../application/ledger/measured-denials.ts';
import { type SealedTrees, sealedTrees } from '../application/ledger/sealed-trees.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { SigningKeys } from '../application/ports/keys.ts';
import type { Log } from '../application/ports/log.ts';
import type { Measurements } from '../application/ports/measurements.ts';
import type { Network } from '../application/ports/network.ts';
import type { Randomness } from '../application/ports/randomness.ts';
import type { Tracing } from '../application/ports/tracing.ts';
import { ledgerPasses } from './passes.ts';
import { chosenSink, chosenSponsorCheck, chosenTransmitter, chosenUpstream } from './settings/alternatives.ts';
import type { Settings } from './settings/read-settings.ts';
import { httpSurfaces } from './surfaces.ts';
import { type SinkOption, type SponsorSources, type TransmitterOption, tokens } from './tokens.ts';

/** What a container can't make by itself. */
export interface Given {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  readonly network: Network;
  readonly storage: Storage;
  readonly signingKeys: SigningKeys;
  readonly tracing: Tracing;
  readonly measurements: Measurements | undefined;
}

export function buildContainer(given: Given): DependencyContainer {
  const container = root.createChildContainer();
  const once = <T>(token: InjectionToken<T>, make: (container: DependencyContainer) => T) =>
    container.register<T>(token, { useFactory: instanceCachingFactory(make) });

  container.register(tokens.settings, { useValue: given.settings });
  container.register(tokens.clock, { useValue: given.clock });
  container.register(tokens.randomness, { useValue: given.randomness });
  container.register(tokens.log, { useValue: given.log });
  container.register(tokens.network, { useValue: given.network });
  const { measurements, storage } = given;
  container.register(tokens.measurementsOption, { useValue: { measurements } });
  container.register(tokens.storage, { useValue: measurements ? measuredDenials(storage, measurements) : storage });
  container.register(tokens.tracing, { useValue: given.tracing });
  container.register(tokens.signingKeys, { useValue: given.signingKeys });

  once(tokens.agentKeys, (c) =>
    agentKeys(c.resolve(tokens.network), c.resolve(tokens.clock), c.resolve(tokens.log), {
      blockPrivateNetworks: c.resolve(tokens.settings)['Service:AgentKeys:BlockPrivateNetworks'],
    }),
  );
  once(tokens.providerMetadata, (c) =>
    discovery(providerLocation(c.resolve(tokens.settings)), c.resolve(tokens.network), c.resolve(tokens.log)),
  );
  once(tokens.providerKeys, (c) =>
    providerKeys(
      c.resolve(tokens.providerMetadata),
      c.resolve(tokens.network),
      c.resolve(tokens.clock),
      c.resolve(tokens.log),
    ),
  );
  once(tokens.transmitter, transmitterOption);
  once(tokens.sponsorSources, sponsorSources);
  once(tokens.anonymousDenials, denialsThatNameNobody);
  once(tokens.sealedTrees, treesOfCheckpoints);
  once(tokens.sinkOption, sinkOption);
  once(tokens.passes, ledgerPasses);
  once(tokens.httpSurfaces, httpSurfaces);
  return container;
}

function providerLocation(settings: Settings): ProviderLocation {
  const chosen = chosenUpstream(settings);
  return chosen.kind === 'issuer' ? chosen : { kind: 'metadata_url', url: chosen.url };
}

function transmitterOption(c: DependencyContainer): TransmitterOption {
  const chosen = chosenTransmitter(c.resolve(tokens.settings));
  if (chosen === undefined) return { keys: undefined };
  const [network, clock, log] = [c.resolve(tokens.network), c.resolve(tokens.clock), c.resolve(tokens.log)];
  const metadata = discovery({ kind: 'transmitter', issuer: chosen.issuer }, network, log);
  return { keys: providerKeys(metadata, network, clock, log, undefined, 'transmitter') };
}

function sponsorSources(c: DependencyContainer): SponsorSources {
  const chosen = chosenSponsorCheck(c.resolve(tokens.settings));
  if (chosen.mode === 'signals') return { directory: undefined, circuit: undefined };
  const [network, clock, log] = [c.resolve(tokens.network), c.resolve(tokens.clock), c.resolve(tokens.log)];
  const metadata = c.resolve(tokens.providerMetadata);
  const assertion = serviceAssertion(c.resolve(tokens.signingKeys), clock, c.resolve(tokens.randomness));
  const asItself = serviceTokens(chosen, { network, clock, metadata, assertion });
  const gate = circuit(clock);
  return { directory: polledSponsors(chosen.usersUrl, { network, clock, log, tokens: asItself, gate }), circuit: gate };
}

function denialsThatNameNobody(c: DependencyContainer): AnonymousDenials {
  const settings = c.resolve(tokens.settings);
  const service = {
    ledger: c.resolve(tokens.storage).ledger,
    clock: c.resolve(tokens.clock),
    log: c.resolve(tokens.log),
  };
  const window = settings['Service:Audit:Aggregation:Window'];
  const { measurements } = c.resolve(tokens.measurementsOption);
  const anonymous = anonymousDenials(service, settings['Service:Audit:Aggregation:Enabled'] ? window : undefined);
  return measurements === undefined ? anonymous : measuredAnonymousDenials(anonymous, measurements);
}

function sinkOption(c: DependencyContainer): SinkOption {
  const chosen = chosenSink(c.resolve(tokens.settings));
  return { sink: chosen && httpSink(chosen, c.resolve(tokens.network), c.resolve(tokens.log)) };
}

function treesOfCheckpoints(c: DependencyContainer): SealedTrees {
  return sealedTrees({
    checkpoints: c.resolve(tokens.storage).checkpoints,
    verifier: checkpointVerifier(c.resolve(tokens.signingKeys).published()),
    clock: c.resolve(tokens.clock),
    hash: sha256Bytes,
    turn: eventLoopTurn,
  });
}
