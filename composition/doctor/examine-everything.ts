/** Binds every examination to its ports and runs them all. Invalid settings skip the examinations that need them. */

import { unusableEndpoints } from '../../adapters/identity-provider/endpoints.ts';
import { reach } from '../../adapters/platform/http-network.ts';
import { timeLimit } from '../../adapters/platform/system-clock.ts';
import {
  agentKeysExamination,
  examineConsoleAddress,
  type OwnAnswer,
  ownAddressExamination,
  sinkExamination,
} from '../../application/doctor/address.ts';
import { type Examination, examineAll, failed, type NamedFinding, skipped } from '../../application/doctor/examine.ts';
import { operatorExaminations, providerExaminations, receiverExaminations } from '../../application/doctor/provider.ts';
import { readinessExamination } from '../../application/doctor/readiness.ts';
import { type PageClient, signInExaminations } from '../../application/doctor/sign-in.ts';
import { signingExaminations } from '../../application/doctor/signing.ts';
import { sponsorExamination } from '../../application/doctor/sponsors.ts';
import { publishedListsExamination } from '../../application/doctor/status-lists.ts';
import { type OpenedStorage, storageExaminations } from '../../application/doctor/storage.ts';
import type { ConfiguredLog } from '../../application/doctor/transparency-log.ts';
import type { ProviderMetadata } from '../../application/ports/identity-provider.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { operatorRoles } from '../../domain/operators/operator.ts';
import type { CompactJws } from '../../domain/tokens/compact-jws.ts';
import { type CLIENT_SECRETS, loadClientSecret } from '../client-secret.ts';
import { sharedKeyFiles } from '../key-files.ts';
import {
  consoleChoice,
  logChoice,
  operatorsChoice,
  provisioningChoice,
  sinkChoice,
  sponsorCheckChoice,
  transmitterChoice,
} from '../settings/alternatives.ts';
import type { Settings, SettingsSection } from '../settings/settings.ts';
import {
  clientTrial,
  identityProvider,
  type NetworkAccess,
  networkAccess,
  observedSigner,
  sponsorQueries,
} from './provider-sources.ts';
import type { DoctorSettings } from './settings.ts';
import {
  asking,
  askOwnAddress,
  askReadiness,
  type ConfiguredSigning,
  closeStorage,
  configuredSigning,
  consoleFileProblem,
  openCondition,
  pageFileProblem,
} from './sources.ts';

/** Returns the findings about the settings, then those of every examination, in their order. */
export async function examineEverything(settings: DoctorSettings, clock: Clock): Promise<readonly NamedFinding[]> {
  const database = settings.section('Service:Database');
  const opened = database && openCondition(database);
  const found = await examineAll(allExaminations(settings, clock, opened), timeLimit);
  await closeStorage(opened);
  const shared = settings.whole === undefined ? [] : await sharedKeyFiles(settings.whole);
  const ofFiles = shared.map((sentence) => ({ check: 'settings', ...failed(sentence, 'Give each key its file.') }));
  return [...settings.findings, ...ofFiles, ...found];
}

/** Half the time limit of an examination: a sink that accepts no connection in this time counts as unreachable. */
const REACH_LIMIT_MS = 5000;

function allExaminations(
  settings: DoctorSettings,
  clock: Clock,
  opened: Promise<OpenedStorage> | undefined,
): readonly Examination[] {
  const access = networkAccess(clock);
  const signingSettings = settings.section('Service:Signing');
  const signing = signingSettings && configuredSigning(signingSettings, settings.isDevelopment);
  const kids = async () => signing?.kids();
  const issuer = settings.whole?.['Service:Issuer'];
  const own = issuer === undefined ? undefined : ownAddress(issuer, signing, access);
  return [
    ...(signing === undefined ? [invalidSettings('signing keys')] : signingExaminations(signing.loaded, signing.files)),
    ...(opened === undefined ? [invalidSettings('database')] : ofStorage(opened, settings, clock, kids)),
    ...ofProvider(settings, signing, own, access),
    ...ofSignIn(settings, signing, own, access),
    ...ofReceivers(settings, access),
    ...ofOperators(settings, access),
    ...ofConsole(settings, signing, own, access),
    ofAgentKeys(settings),
    ofSink(settings),
    own === undefined ? invalidSettings('own address') : ownAddressExamination(own),
    ...(issuer === undefined ? [] : [readinessExamination(() => askReadiness(issuer, access))]),
    ...ofPublishedLists(settings, signing, access),
  ];
}

interface OwnAddress {
  readonly issuer: string;
  readonly ask: () => Promise<OwnAnswer>;
}

/** Asks once, for all examinations. */
function ownAddress(issuer: string, signing: ConfiguredSigning | undefined, access: NetworkAccess): OwnAddress {
  let asking: Promise<OwnAnswer> | undefined;
  return {
    issuer,
    ask() {
      asking ??= askOwnAddress(issuer, signing, access);
      return asking;
    },
  };
}

/** Whether the provider could read the signing keys of these settings, as far as this machine sees. */
async function publishesKeys(own: OwnAddress | undefined): Promise<boolean> {
  const answer = await own?.ask();
  return answer?.kind === 'answered' && answer.issuer === own?.issuer && answer.missing.length === 0;
}

/** `undefined` if the service publishes no status lists, or if a setting of theirs is invalid. */
function statusLists(settings: DoctorSettings): SettingsSection<'Service:StatusLists'> | undefined {
  const lists = settings.section('Service:StatusLists');
  return lists?.['Service:StatusLists:Enabled'] ? lists : undefined;
}

function configuredLog({ whole }: DoctorSettings): ConfiguredLog | undefined {
  const chosen = whole && logChoice(whole);
  return chosen && { origin: chosen.origin, witnesses: chosen.witnesses.map(({ key }) => key.name) };
}

function ofPublishedLists(
  settings: DoctorSettings,
  signing: ConfiguredSigning | undefined,
  access: NetworkAccess,
): readonly Examination[] {
  const lists = statusLists(settings);
  const issuer = settings.whole?.['Service:Issuer'];
  if (lists === undefined || issuer === undefined) return [];
  const ttl = lists['Service:StatusLists:Ttl'];
  const verify = async (jws: CompactJws) => (await signing?.signingKeys())?.verify(jws);
  return [publishedListsExamination({ issuer, ttl, clock: access.clock, ask: asking(access), verify })];
}

/** Skips a check whose settings are invalid; the findings about the settings name them. */
function invalidSettings(check: string): Examination {
  return { check, examine: async () => skipped('Its settings are wrong.') };
}

function ofStorage(
  opened: Promise<OpenedStorage>,
  settings: DoctorSettings,
  clock: Clock,
  kids: () => Promise<readonly string[] | undefined>,
): readonly Examination[] {
  const audit = settings.section('Service:Audit');
  if (audit === undefined) return [invalidSettings('database')];
  return storageExaminations(opened, {
    clock,
    isDevelopment: settings.isDevelopment,
    monthsAhead: audit['Service:Audit:Partitions:MonthsAhead'],
    checkpointInterval: audit['Service:Audit:Checkpoint:Interval'],
    hasSink: sinkChoice(audit) !== undefined,
    listEntries: statusLists(settings)?.['Service:StatusLists:Entries'],
    logoutsLeaveTasks: logoutsLeaveTasks(settings.section('Service:UpstreamIdp')),
    transparencyLog: configuredLog(settings),
    kids,
  });
}

function logoutsLeaveTasks(upstream: SettingsSection<'Service:UpstreamIdp'> | undefined): boolean {
  const audience = upstream?.['Service:UpstreamIdp:BackchannelLogout:Audience'];
  return audience !== undefined && upstream?.['Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession'] === false;
}

function ofProvider(
  settings: DoctorSettings,
  signing: ConfiguredSigning | undefined,
  own: OwnAddress | undefined,
  access: NetworkAccess,
): readonly Examination[] {
  const upstream = settings.section('Service:UpstreamIdp');
  if (upstream === undefined) return [invalidSettings('provider discovery'), invalidSettings('sponsor check')];
  const provider = identityProvider(upstream, access);
  const chosen = sponsorCheckChoice(upstream);
  return [
    ...providerExaminations(provider),
    sponsorExamination(() => {
      if (chosen.mode === 'signals') return undefined;
      const ready = async () => {
        const keys = await signing?.signingKeys();
        if (keys === undefined) return 'unusable';
        return { ...sponsorQueries(chosen, keys, provider, access), publishesKeys: () => publishesKeys(own) };
      };
      return ready();
    }),
  ];
}

/** No examination without the page. */
function ofSignIn(
  { whole }: DoctorSettings,
  signing: ConfiguredSigning | undefined,
  own: OwnAddress | undefined,
  access: NetworkAccess,
): readonly Examination[] {
  const clientId = whole?.['Service:Me:ClientId'];
  if (whole === undefined || clientId === undefined) return [];
  const client: ConfiguredClient = {
    ...{ check: 'sign-in', secretSetting: 'Service:Me:ClientSecret:Path', clientId },
    returnAddress: `${whole['Service:Issuer']}/me/callback`,
    signedOutAddress: `${whole['Service:Issuer']}/me/signed-out`,
    claims: [...claimsOf(whole), ...(whole['Service:Me:Pause'] ? ['auth_time (to pause agents)'] : [])],
    fileProblem: () => pageFileProblem(whole),
  };
  const { provider } = identityProvider(whole, access);
  return signInExaminations(signInClient(client, whole, { provider, signing, own, access }));
}

interface SignInSources {
  readonly provider: ProviderMetadata;
  readonly signing: ConfiguredSigning | undefined;
  readonly own: OwnAddress | undefined;
  readonly access: NetworkAccess;
}

/** The client of the page, or of the console. */
interface ConfiguredClient
  extends Pick<PageClient, 'check' | 'clientId' | 'returnAddress' | 'signedOutAddress' | 'claims' | 'fileProblem'> {
  readonly secretSetting: (typeof CLIENT_SECRETS)[number];
}

function signInClient(
  client: ConfiguredClient,
  settings: Settings,
  { provider, signing, own, access }: SignInSources,
): PageClient {
  const { clientId, returnAddress: redirectUri, secretSetting } = client;
  const assertionAudience = settings['Service:UpstreamIdp:ClientAssertionAudience'];
  return {
    ...{ ...client, assertionAudience, issuer: settings['Service:Issuer'] },
    hasSecret: settings[secretSetting] !== undefined,
    document: () => provider.document(),
    unusableEndpoints: (document) => unusableEndpoints(document, provider.isPlain),
    async tryClient(document) {
      const clientSecret = await loadClientSecret(settings, secretSetting);
      const tried = { clientId, clientSecret, redirectUri, assertionAudience };
      return clientTrial(tried, document, await signing?.signingKeys(), access);
    },
    publishesKeys: () => publishesKeys(own),
  };
}

function ofReceivers(settings: DoctorSettings, access: NetworkAccess): readonly Examination[] {
  const [upstream, scim, ssf] = [
    settings.section('Service:UpstreamIdp'),
    settings.section('Service:Scim'),
    settings.section('Service:Ssf'),
  ];
  if (upstream === undefined || scim === undefined || ssf === undefined) return [invalidSettings('receivers')];
  const transmitter = transmitterChoice(ssf);
  return receiverExaminations({
    backchannelLogout: upstream['Service:UpstreamIdp:BackchannelLogout:Audience'] !== undefined,
    refuseLoggedOut: upstream['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
    scim: provisioningChoice(scim) !== undefined,
    transmitter: transmitter && observedSigner({ kind: 'transmitter', issuer: transmitter.issuer }, access),
    mode: sponsorCheckChoice(upstream).mode,
    sponsorKeyClaim: upstream['Service:UpstreamIdp:SponsorKeyClaim'],
  });
}

function ofOperators(settings: DoctorSettings, access: NetworkAccess): readonly Examination[] {
  const [upstream, section] = [settings.section('Service:UpstreamIdp'), settings.section('Service:Operators')];
  if (upstream === undefined || section === undefined) return [invalidSettings('operators')];
  const chosen = operatorsChoice({ ...upstream, ...section });
  if (chosen === undefined) return [];
  const { issuer, roles } = chosen;
  return operatorExaminations({
    provider: issuer === undefined ? undefined : observedSigner({ kind: 'issuer', issuer }, access),
    vacant: operatorRoles.filter((role) => roles[role] === undefined),
  });
}

/** The claim that names a person, unless it is in every ID token. */
function claimsOf({ 'Service:UpstreamIdp:SponsorKeyClaim': claim }: Settings): readonly string[] {
  return claim === 'sub' ? [] : [claim];
}

/** No examination without the console. */
function ofConsole(
  { whole }: DoctorSettings,
  signing: ConfiguredSigning | undefined,
  own: OwnAddress | undefined,
  access: NetworkAccess,
): readonly Examination[] {
  const chosen = whole && consoleChoice(whole);
  if (whole === undefined || chosen === undefined) return [];
  const { issuer, roleClaim } = operatorsChoice(whole) ?? {};
  const { provider } =
    issuer === undefined ? identityProvider(whole, access) : observedSigner({ kind: 'issuer', issuer }, access);
  const client: ConfiguredClient = {
    ...{ check: 'console', secretSetting: 'Service:Operators:ClientSecret:Path', clientId: chosen.clientId },
    returnAddress: `${chosen.origin}/callback`,
    signedOutAddress: `${chosen.origin}/signed-out`,
    claims: [...(roleClaim === undefined ? [] : [roleClaim]), ...claimsOf(whole)],
    fileProblem: () => consoleFileProblem(whole),
  };
  return [
    ...signInExaminations(signInClient(client, whole, { provider, signing, own, access })),
    {
      check: 'console address',
      async examine() {
        // The code of the console is loaded only with its settings.
        const { assets } = await import('../../adapters/http/console/assets.ts');
        const { path, bytes } = assets.style;
        const content = bytes.toString('utf8');
        return examineConsoleAddress({ url: `${chosen.origin}${path}`, content, ask: asking(access) });
      },
    },
  ];
}

function ofAgentKeys(settings: DoctorSettings): Examination {
  const agentKeys = settings.section('Service:AgentKeys');
  if (agentKeys === undefined) return invalidSettings('agent keys');
  return agentKeysExamination(agentKeys['Service:AgentKeys:BlockPrivateNetworks']);
}

function ofSink(settings: DoctorSettings): Examination {
  const audit = settings.section('Service:Audit');
  return audit === undefined ? invalidSettings('sink') : sinkExamination(sinkChoice(audit)?.url, reach, REACH_LIMIT_MS);
}
