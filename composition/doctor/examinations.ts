/** Everything that the doctor looks at, bound to its ports; what wrong settings make impossible is left out, and said. */

import { httpNetwork } from '../../adapters/network/http-network.ts';
import { reach } from '../../adapters/network/reach.ts';
import { timeLimit } from '../../adapters/system/time-limit.ts';
import { ownAddressExamination, sinkExamination } from '../../application/doctor/address-examinations.ts';
import { agentKeysExamination } from '../../application/doctor/agent-keys-examination.ts';
import { EXAMINATION_LIMIT_MS, examineAll } from '../../application/doctor/examine-all.ts';
import { type Examination, type NamedFinding, skipped } from '../../application/doctor/finding.ts';
import { heardLog } from '../../application/doctor/heard.ts';
import { providerExaminations } from '../../application/doctor/provider-examinations.ts';
import { receiverExaminations } from '../../application/doctor/receiver-examinations.ts';
import { signingExaminations } from '../../application/doctor/signing-examinations.ts';
import { sponsorExamination } from '../../application/doctor/sponsor-examination.ts';
import { type OpenedStorage, storageExaminations } from '../../application/doctor/storage-examinations.ts';
import type { Clock } from '../../application/ports/clock.ts';
import {
  chosenProvisioning,
  chosenSink,
  chosenSponsorCheck,
  chosenTransmitter,
  chosenUpstream,
} from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { type ConfiguredSigning, configuredSigning } from './configured-signing.ts';
import type { DoctorSettings } from './doctor-settings.ts';
import { openCondition } from './open-condition.ts';
import { askOwnAddress } from './own-address.ts';
import { type AskedSigner, type Asking, askedSigner } from './signers.ts';
import { sponsorAsking } from './sponsor-asking.ts';

/** Closing waits for what is under way, and what hangs has been reported by then. */
const CLOSE_LIMIT_MS = 1000;

/** The findings about the settings, then those of every examination, in their order. */
export async function examineEverything(settings: DoctorSettings, clock: Clock): Promise<readonly NamedFinding[]> {
  const { examinations, close } = examining(settings, clock);
  const found = await examineAll(examinations, timeLimit);
  await timeLimit(close(), CLOSE_LIMIT_MS);
  return [...settings.findings, ...found];
}

interface Examining {
  readonly examinations: readonly Examination[];
  /** What was opened for them; never rejects. */
  close(): Promise<void>;
}

/** Half of what an examination may take: whoever does not accept a connection by then is not there. */
const REACH_LIMIT_MS = 5000;
/** Before the examination's own limit, so that what hung can still be named. */
const NETWORK_LIMIT_MS = EXAMINATION_LIMIT_MS - 500;

export function askingWith(clock: Clock): Asking {
  return { network: httpNetwork(), clock, limitMs: NETWORK_LIMIT_MS };
}

function examining(settings: DoctorSettings, clock: Clock): Examining {
  const asking = askingWith(clock);
  const signingSettings = settings.section('Service:Signing');
  const signing = signingSettings && configuredSigning(signingSettings, settings.isDevelopment);
  const kids = async () => signing?.kids();
  const database = settings.section('Service:Database');
  const opened = database && openCondition(database, heardLog());
  const issuer = settings.whole?.['Service:Issuer'];
  return {
    examinations: [
      ...(signing === undefined ? [left('signing keys')] : signingExaminations(signing.loaded, signing.files)),
      ...(opened === undefined ? [left('database')] : ofStorage(opened, settings, clock, kids)),
      ...ofProvider(settings, signing, asking),
      ...ofReceivers(settings, asking),
      ofAgentKeys(settings),
      ofSink(settings),
      issuer === undefined
        ? left('own address')
        : ownAddressExamination({ issuer, kids, ask: () => askOwnAddress(issuer, asking) }),
    ],
    async close() {
      const storage = await opened?.catch(() => undefined);
      if (storage?.kind === 'opened') await storage.condition.close().catch(() => undefined);
    },
  };
}

/** Its settings are wrong, as another line says. */
function left(check: string): Examination {
  return { check, examine: async () => skipped('Its settings are wrong.') };
}

function ofStorage(
  opened: Promise<OpenedStorage>,
  settings: DoctorSettings,
  clock: Clock,
  kids: () => Promise<readonly string[] | undefined>,
): readonly Examination[] {
  const audit = settings.section('Service:Audit');
  if (audit === undefined) return [left('database')];
  return storageExaminations(opened, {
    clock,
    isDevelopment: settings.isDevelopment,
    monthsAhead: audit['Service:Audit:Partitions:MonthsAhead'],
    checkpointInterval: audit['Service:Audit:Checkpoint:Interval'],
    hasSink: chosenSink(audit) !== undefined,
    kids,
  });
}

function ofProvider(
  settings: DoctorSettings,
  signing: ConfiguredSigning | undefined,
  asking: Asking,
): readonly Examination[] {
  const upstream = settings.section('Service:UpstreamIdp');
  if (upstream === undefined) return [left('provider discovery'), left('sponsor check')];
  const provider = identityProvider(upstream, asking);
  const chosen = chosenSponsorCheck(upstream);
  return [
    ...providerExaminations(provider),
    sponsorExamination(() => {
      if (chosen.mode === 'signals') return undefined;
      const ready = async () => {
        const keys = await signing?.signingKeys();
        return keys === undefined ? 'unusable' : sponsorAsking(chosen, keys, provider, asking);
      };
      return ready();
    }),
  ];
}

export function identityProvider(upstream: SettingsSection<'Service:UpstreamIdp'>, asking: Asking): AskedSigner {
  const chosen = chosenUpstream(upstream);
  return askedSigner(chosen.kind === 'issuer' ? chosen : { kind: 'metadata_url', url: chosen.url }, asking);
}

function ofReceivers(settings: DoctorSettings, asking: Asking): readonly Examination[] {
  const [upstream, scim, ssf] = [
    settings.section('Service:UpstreamIdp'),
    settings.section('Service:Scim'),
    settings.section('Service:Ssf'),
  ];
  if (upstream === undefined || scim === undefined || ssf === undefined) return [left('receivers')];
  const transmitter = chosenTransmitter(ssf);
  return receiverExaminations({
    backchannelLogout: upstream['Service:UpstreamIdp:BackchannelLogout:Audience'] !== undefined,
    refuseLoggedOut: upstream['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
    scim: chosenProvisioning(scim) !== undefined,
    transmitter: transmitter && askedSigner({ kind: 'transmitter', issuer: transmitter.issuer }, asking),
    mode: chosenSponsorCheck(upstream).mode,
    sponsorKeyClaim: upstream['Service:UpstreamIdp:SponsorKeyClaim'],
  });
}

function ofAgentKeys(settings: DoctorSettings): Examination {
  const agentKeys = settings.section('Service:AgentKeys');
  if (agentKeys === undefined) return left('agent keys');
  return agentKeysExamination(agentKeys['Service:AgentKeys:BlockPrivateNetworks']);
}

function ofSink(settings: DoctorSettings): Examination {
  const audit = settings.section('Service:Audit');
  return audit === undefined ? left('sink') : sinkExamination(chosenSink(audit)?.url, reach, REACH_LIMIT_MS);
}
