/**
 * The wiring: the only file that imports every adapter. Each part has one factory, which names its dependencies and
 * gets their values. The container creates each part once. The service asks it once, for the parts that it starts.
 */

import 'reflect-metadata/lite';
import { instanceCachingFactory, container as root } from 'tsyringe';
import { circuit } from '../adapters/identity-provider/circuit.ts';
import { discovery } from '../adapters/identity-provider/discovery.ts';
import { polledSponsors } from '../adapters/identity-provider/polled-sponsors.ts';
import { fixedToken, serviceAssertion, serviceTokens } from '../adapters/identity-provider/service-token.ts';
import { agentKeys } from '../adapters/jose/agent-keys.ts';
import { checkpointVerifier } from '../adapters/jose/checkpoint-signatures.ts';
import { providerKeys } from '../adapters/jose/provider-keys.ts';
import { httpSink } from '../adapters/outbound/http-sink.ts';
import { eventLoopTurn, timeLimit } from '../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../adapters/platform/system-crypto.ts';
import {
  anonymousDenials,
  measuredAnonymousDenials,
  measuredDenials,
} from '../application/ledger/anonymous-denials.ts';
import { recordStream } from '../application/ledger/record-stream.ts';
import { sealedTrees } from '../application/ledger/sealed-trees.ts';
import { trustedChain } from '../application/ledger/trusted-chain.ts';
import { clockWatch } from '../application/upkeep/clock-watch.ts';
import { admissionLimits, httpSurfaces } from './http.ts';
import { jobs } from './jobs.ts';
import { observed } from './metrics.ts';
import type { Given, Made, Parts, ServiceParts } from './parts.ts';
import { receivers } from './receivers.ts';
import {
  operatorsChoice,
  signingKeyChoices,
  sinkChoice,
  sponsorCheckChoice,
  transmitterChoice,
  upstreamChoice,
} from './settings/alternatives.ts';
import { storageWithin } from './traces.ts';

export function wire(given: Given): ServiceParts {
  const container = root.createChildContainer();
  const provide = <Name extends keyof Made, Needed extends keyof Parts>(
    name: Name,
    needs: readonly Needed[],
    make: (parts: Pick<Parts, Needed>) => Made[Name],
  ) =>
    container.register(name, {
      useFactory: instanceCachingFactory((c) =>
        make(Object.fromEntries(needs.map((need) => [need, c.resolve(need)])) as Pick<Parts, Needed>),
      ),
    });

  for (const [name, value] of Object.entries(given)) container.register(name, { useFactory: () => value });

  provide('storage', ['opened', 'measurements'], ({ opened, measurements }) =>
    measurements === undefined ? opened : measuredDenials(opened, measurements),
  );
  provide('storageWithin', ['storage', 'tracing', 'settings'], storageWithin);
  provide(
    'clockWatch',
    ['opened', 'clock', 'monotonic', 'log'],
    ({ opened: { databaseTime }, clock, monotonic, log }) => clockWatch({ clock, monotonic, databaseTime, log }),
  );
  provide('agentKeys', ['settings', 'network', 'clock', 'log'], ({ settings, network, clock, log }) =>
    agentKeys(network, clock, log, { blockPrivateNetworks: settings['Service:AgentKeys:BlockPrivateNetworks'] }),
  );
  provide('providerMetadata', ['settings', 'network', 'log'], ({ settings, network, log }) => {
    const upstream = upstreamChoice(settings);
    const location = upstream.kind === 'issuer' ? upstream : { kind: 'metadata_url' as const, url: upstream.url };
    return discovery(location, network, log);
  });
  provide('providerKeys', ['providerMetadata', 'network', 'clock', 'log'], (parts) =>
    providerKeys(parts.providerMetadata, parts.network, parts.clock, parts.log),
  );
  provide('transmitterKeys', ['settings', 'network', 'clock', 'log'], ({ settings, network, clock, log }) => {
    const transmitter = transmitterChoice(settings);
    if (transmitter === undefined) return undefined;
    const metadata = discovery({ kind: 'transmitter', issuer: transmitter.issuer }, network, log);
    return providerKeys(metadata, network, clock, log, undefined, 'transmitter');
  });
  provide('operatorMetadata', ['settings', 'network', 'log'], ({ settings, network, log }) => {
    const issuer = operatorsChoice(settings)?.issuer;
    return issuer === undefined ? undefined : discovery({ kind: 'issuer', issuer }, network, log);
  });
  provide('operatorKeys', ['operatorMetadata', 'network', 'clock', 'log'], (parts) => {
    const { operatorMetadata: metadata, network, clock, log } = parts;
    return metadata && providerKeys(metadata, network, clock, log);
  });
  provide('circuit', ['settings', 'clock'], ({ settings, clock }) =>
    sponsorCheckChoice(settings).mode === 'poll' ? circuit(clock) : undefined,
  );
  provide(
    'directory',
    ['settings', 'circuit', 'providerMetadata', 'signingKeys', 'network', 'clock', 'randomness', 'log'],
    ({ settings, circuit: gate, providerMetadata: metadata, signingKeys, network, clock, randomness, log }) => {
      const check = sponsorCheckChoice(settings);
      if (check.mode === 'signals' || gate === undefined) return undefined;
      const { access } = check;
      const assertion = serviceAssertion(signingKeys, clock, randomness);
      const tokens =
        'bearerToken' in access
          ? fixedToken(access.bearerToken)
          : serviceTokens(access, { network, clock, metadata, assertion });
      return polledSponsors(check.usersUrl, { network, clock, log, tokens, gate });
    },
  );
  provide('anonymousDenials', ['settings', 'storage', 'storageWithin', 'clock', 'log', 'measurements'], (parts) => {
    const { settings, storage, storageWithin: decisionsWithin, clock, log, measurements } = parts;
    const window = settings['Service:Audit:Aggregation:Enabled']
      ? settings['Service:Audit:Aggregation:Window']
      : undefined;
    const anonymous = anonymousDenials({ decisions: storage, decisionsWithin, clock, log }, window);
    return measurements === undefined ? anonymous : measuredAnonymousDenials(anonymous, measurements);
  });
  provide('sealedTrees', ['storage', 'signingKeys', 'clock'], ({ storage, signingKeys, clock }) =>
    sealedTrees({
      ...{ checkpoints: storage.checkpoints, verifier: checkpointVerifier(signingKeys.published()) },
      ...{ clock, hash: sha256Bytes, turn: eventLoopTurn },
    }),
  );
  provide('trustedChain', ['settings', 'storage', 'signingKeys', 'log'], ({ settings, storage, signingKeys, log }) =>
    trustedChain({
      ...{ checkpoints: storage.checkpoints, verifier: checkpointVerifier(signingKeys.published()) },
      ...{ isKeyGenerated: signingKeyChoices(settings).length === 0, hash: sha256Bytes, turn: eventLoopTurn, log },
    }),
  );
  provide(
    'transparencyLog',
    [
      'openLog',
      'settings',
      'storage',
      'sealedTrees',
      'trustedChain',
      'signingKeys',
      'noteSigner',
      'network',
      'clock',
      'clockWatch',
      'log',
    ],
    ({ openLog, ...parts }) => openLog?.(parts),
  );
  provide(
    'recordStream',
    ['settings', 'storage'],
    ({ settings, storage: { ledger, checkpoints } }) =>
      operatorsChoice(settings) && recordStream({ ledger, checkpoints, turn: eventLoopTurn, timeLimit }),
  );
  provide('sink', ['settings', 'network', 'log'], ({ settings, network, log }) => {
    const chosen = sinkChoice(settings);
    return chosen && httpSink(chosen, network, log);
  });
  provide('admission', ['settings'], ({ settings }) => admissionLimits(settings));
  provide(
    'receivers',
    [
      'settings',
      'storage',
      'storageWithin',
      'anonymousDenials',
      'providerMetadata',
      'providerKeys',
      'transmitterKeys',
      'operatorKeys',
      'clock',
      'clockWatch',
      'log',
      'randomness',
    ],
    receivers,
  );
  provide(
    'me',
    [
      ...(['openMe', 'settings', 'storage', 'storageWithin', 'anonymousDenials', 'providerMetadata'] as const),
      ...([
        'providerKeys',
        'sealedTrees',
        'signingKeys',
        'network',
        'clock',
        'clockWatch',
        'log',
        'randomness',
      ] as const),
    ],
    ({ openMe, ...parts }) => openMe?.(parts),
  );
  provide(
    'surfaces',
    [
      ...([
        'settings',
        'storage',
        'storageWithin',
        'signingKeys',
        'agentKeys',
        'providerKeys',
        'operatorKeys',
        'directory',
        'anonymousDenials',
        'me',
      ] as const),
      ...([
        'sealedTrees',
        'trustedChain',
        'recordStream',
        'transparencyLog',
        'admission',
        'receivers',
        'clock',
        'clockWatch',
        'log',
        'randomness',
        'measurements',
        'tracing',
      ] as const),
    ],
    httpSurfaces,
  );
  provide(
    'console',
    [
      ...(['openConsole', 'settings', 'storage', 'storageWithin', 'anonymousDenials', 'providerMetadata'] as const),
      ...(['providerKeys', 'operatorMetadata', 'operatorKeys', 'surfaces', 'signingKeys', 'network'] as const),
      ...(['agentKeys', 'clock', 'clockWatch', 'log', 'randomness'] as const),
    ],
    ({ openConsole, ...parts }) => openConsole?.(parts),
  );
  provide(
    'jobs',
    [
      ...(['settings', 'storage', 'storageWithin', 'tracing', 'signingKeys', 'anonymousDenials'] as const),
      ...(['recordStream', 'trustedChain', 'transparencyLog', 'sink', 'clock', 'clockWatch'] as const),
    ],
    jobs,
  );
  provide(
    'observed',
    ['storage', 'signingKeys', 'providerKeys', 'transmitterKeys', 'circuit', 'admission', 'clock', 'clockWatch'],
    observed,
  );
  provide(
    'service',
    [
      'surfaces',
      'console',
      'jobs',
      'observed',
      'providerKeys',
      'transmitterKeys',
      'operatorKeys',
      'recordStream',
      'anonymousDenials',
      'trustedChain',
      'transparencyLog',
    ],
    (parts) => parts,
  );
  return container.resolve<ServiceParts>('service');
}
