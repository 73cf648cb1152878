/**
 * The wiring: the only file that imports every adapter. Each part has one factory, which names the parts that it needs.
 * The container creates a part when its name is first read, and once.
 */

import 'reflect-metadata/lite';
import { instanceCachingFactory, container as root } from 'tsyringe';
import { circuit } from '../adapters/identity-provider/circuit.ts';
import { discovery } from '../adapters/identity-provider/discovery.ts';
import { polledSponsors } from '../adapters/identity-provider/polled-sponsors.ts';
import { fixedToken, serviceAssertion, serviceTokens } from '../adapters/identity-provider/service-token.ts';
import { agentKeys } from '../adapters/jose/agent-keys.ts';
import { approvalKeys } from '../adapters/jose/approval-keys.ts';
import { checkpointVerifier } from '../adapters/jose/checkpoint-signatures.ts';
import { providerKeys } from '../adapters/jose/provider-keys.ts';
import { clientDocuments } from '../adapters/outbound/client-documents.ts';
import { httpNotices } from '../adapters/outbound/http-notices.ts';
import { httpSink } from '../adapters/outbound/http-sink.ts';
import { eventLoopTurn, timeLimit } from '../adapters/platform/system-clock.ts';
import { sha256Bytes } from '../adapters/platform/system-crypto.ts';
import {
  anonymousDenials,
  measuredAnonymousDenials,
  measuredDenials,
} from '../application/ledger/anonymous-denials.ts';
import { findArchivedPart } from '../application/ledger/find-archived-part.ts';
import { recordStream } from '../application/ledger/record-stream.ts';
import { sealedTrees } from '../application/ledger/sealed-trees.ts';
import { trustedChain } from '../application/ledger/trusted-chain.ts';
import { clockWatch } from '../application/upkeep/clock-watch.ts';
import { admissionLimits, httpSurfaces } from './http.ts';
import { jobs } from './jobs.ts';
import { observed } from './metrics.ts';
import { operators } from './operators.ts';
import type { Given, Made, Parts } from './parts.ts';
import { receivers } from './receivers.ts';
import {
  approvalsChoice,
  operatorsChoice,
  signingKeyChoices,
  sinkChoice,
  sponsorCheckChoice,
  transmitterChoice,
  upstreamChoice,
} from './settings/alternatives.ts';
import { storageOf } from './traces.ts';

const factories: { readonly [Name in keyof Made]: (parts: Parts) => Made[Name] } = {
  sharedStorage: ({ opened, measurements }) =>
    measurements === undefined ? opened : measuredDenials(opened, measurements),
  storage: storageOf,
  clockWatch: ({ opened: { databaseTime }, clock, monotonic, log }) =>
    clockWatch({ clock, monotonic, databaseTime, log }),
  agentKeys: ({ settings, network, clock, log }) =>
    agentKeys(network, clock, log, { blockPrivateNetworks: settings['Service:AgentKeys:BlockPrivateNetworks'] }),
  clientDocuments: ({ settings, network, clock, log }) =>
    clientDocuments(network, clock, log, {
      issuer: settings['Service:Issuer'],
      publicOnly: settings['Service:AgentKeys:BlockPrivateNetworks'],
    }),
  approvalKeys: ({ settings, network, clock, log }) => {
    const chosen = approvalsChoice(settings);
    return chosen && approvalKeys(chosen.resources, network, clock, log);
  },
  providerMetadata: ({ settings, network, log }) => discovery(upstreamChoice(settings), network, log),
  providerKeys: (parts) => providerKeys(parts.providerMetadata, parts.network, parts.clock, parts.log),
  transmitterKeys: ({ settings, network, clock, log }) => {
    const transmitter = transmitterChoice(settings);
    if (transmitter === undefined) return undefined;
    const metadata = discovery({ kind: 'transmitter', issuer: transmitter.issuer }, network, log);
    return providerKeys(metadata, network, clock, log, undefined, 'transmitter');
  },
  operatorMetadata: ({ settings, network, log }) => {
    const issuer = operatorsChoice(settings)?.issuer;
    return issuer === undefined ? undefined : discovery({ kind: 'issuer', issuer }, network, log);
  },
  operatorKeys: (parts) => {
    const { operatorMetadata: metadata, network, clock, log } = parts;
    return metadata && providerKeys(metadata, network, clock, log);
  },
  circuit: ({ settings, clock }) => (sponsorCheckChoice(settings).mode === 'poll' ? circuit(clock) : undefined),
  directory: ({
    settings,
    circuit: gate,
    providerMetadata: metadata,
    signingKeys,
    network,
    clock,
    randomness,
    log,
  }) => {
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
  anonymousDenials: (parts) => {
    const { settings, storage, clock, log, measurements } = parts;
    const window = settings['Service:Audit:Aggregation:Enabled']
      ? settings['Service:Audit:Aggregation:Window']
      : undefined;
    const anonymous = anonymousDenials({ decisions: storage, clock, log }, window);
    return measurements === undefined ? anonymous : measuredAnonymousDenials(anonymous, measurements);
  },
  sealedTrees: ({ sharedStorage, signingKeys, clock }) =>
    sealedTrees({
      checkpoints: sharedStorage.checkpoints,
      verifier: checkpointVerifier(signingKeys.published()),
      clock,
      hash: sha256Bytes,
      turn: eventLoopTurn,
    }),
  archivedPart: ({ sharedStorage: { checkpoints }, sealedTrees: trees, signingKeys }) =>
    findArchivedPart({ checkpoints, trees, hash: sha256Bytes, verifier: checkpointVerifier(signingKeys.published()) }),
  trustedChain: ({ settings, sharedStorage, signingKeys, log }) =>
    trustedChain({
      checkpoints: sharedStorage.checkpoints,
      verifier: checkpointVerifier(signingKeys.published()),
      isKeyGenerated: signingKeyChoices(settings).length === 0,
      hash: sha256Bytes,
      turn: eventLoopTurn,
      log,
    }),
  transparencyLog: (parts) => parts.openLog?.(parts),
  recordStream: ({ settings, sharedStorage: { ledger, checkpoints } }) =>
    operatorsChoice(settings) && recordStream({ ledger, checkpoints, turn: eventLoopTurn, timeLimit }),
  sink: ({ settings, network, log }) => {
    const chosen = sinkChoice(settings);
    return chosen && httpSink(chosen, network, log);
  },
  noticeReceiver: ({ settings, network, log }) => {
    const notify = approvalsChoice(settings)?.notify;
    return notify && httpNotices(notify, network, log);
  },
  admission: ({ settings }) => admissionLimits(settings),
  operators,
  receivers,
  me: (parts) => parts.openMe?.(parts),
  authorize: (parts) => parts.openAuthorize?.(parts),
  surfaces: httpSurfaces,
  console: (parts) => parts.openConsole?.(parts),
  jobs,
  observed,
};

export function wire(given: Given): Parts {
  const container = root.createChildContainer();
  const parts = new Proxy({} as Parts, {
    get: (_parts, name) => container.resolve(name),
    ownKeys() {
      throw new Error('parts are read by name: a copy of them all would create them all');
    },
  });
  for (const [name, value] of Object.entries(given)) container.register(name, { useFactory: () => value });
  for (const [name, make] of Object.entries(factories)) {
    container.register(name, { useFactory: instanceCachingFactory(() => make(parts)) });
  }
  return parts;
}
