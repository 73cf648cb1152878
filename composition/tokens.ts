/** What the container holds, by typed tokens: whoever resolves one knows what comes out. */

import type { InjectionToken } from 'tsyringe';
import type { HttpSurfaces } from '../adapters/http/app.ts';
import type { Circuit } from '../adapters/identity-provider/circuit.ts';
import type { RefreshedProviderKeys } from '../adapters/jose/provider-keys.ts';
import type { Storage } from '../adapters/persistence/storage.ts';
import type { AnonymousDenials } from '../application/ledger/anonymous-denials.ts';
import type { SealedTrees } from '../application/ledger/sealed-trees.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { AgentKeys, SigningKeys } from '../application/ports/keys.ts';
import type { Log } from '../application/ports/log.ts';
import type { Measurements } from '../application/ports/measurements.ts';
import type { Network } from '../application/ports/network.ts';
import type { ProviderMetadata } from '../application/ports/provider-metadata.ts';
import type { Randomness } from '../application/ports/randomness.ts';
import type { Sink } from '../application/ports/sink.ts';
import type { SponsorDirectory } from '../application/ports/sponsor-directory.ts';
import type { Tracing } from '../application/ports/tracing.ts';
import type { Passes } from './recurring.ts';
import type { Settings } from './settings/read-settings.ts';

const token = <T>(name: string): InjectionToken<T> => Symbol(name);

/** The directory, and what keeps from asking one that is down, are there only in `poll` mode. */
export interface SponsorSources {
  readonly circuit: Circuit | undefined;
  readonly directory: SponsorDirectory | undefined;
}

/** The transmitter's keys are there only where one pushes events. */
export interface TransmitterOption {
  readonly keys: RefreshedProviderKeys | undefined;
}

/** The sink is there only where it has an address. */
export interface SinkOption {
  readonly sink: Sink | undefined;
}

/** They are there only where somebody can ask for them. */
export interface MeasurementsOption {
  readonly measurements: Measurements | undefined;
}

export const tokens = {
  settings: token<Settings>('settings'),
  clock: token<Clock>('clock'),
  randomness: token<Randomness>('randomness'),
  log: token<Log>('log'),
  network: token<Network>('network'),
  tracing: token<Tracing>('tracing'),
  measurementsOption: token<MeasurementsOption>('measurementsOption'),
  storage: token<Storage>('storage'),
  signingKeys: token<SigningKeys>('signingKeys'),
  agentKeys: token<AgentKeys>('agentKeys'),
  providerMetadata: token<ProviderMetadata>('providerMetadata'),
  providerKeys: token<RefreshedProviderKeys>('providerKeys'),
  transmitter: token<TransmitterOption>('transmitter'),
  sponsorSources: token<SponsorSources>('sponsorSources'),
  anonymousDenials: token<AnonymousDenials>('anonymousDenials'),
  sealedTrees: token<SealedTrees>('sealedTrees'),
  sinkOption: token<SinkOption>('sinkOption'),
  passes: token<Passes>('passes'),
  httpSurfaces: token<HttpSurfaces>('httpSurfaces'),
} as const;
