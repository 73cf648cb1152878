/**
 * Binds every examination to its ports and runs them all. Invalid settings skip the examinations that need them
 * (settings.ts). The sources are the service's own adapters: sources.ts for keys, files, the database and the public
 * address, provider-sources.ts for identity providers and other signers.
 */

import { unusableEndpoints } from '../../adapters/identity-provider/endpoints.ts';
import { tryUsers } from '../../adapters/identity-provider/users-trial.ts';
import { TOOL_SERVER_KEY_SET } from '../../adapters/jose/approval-keys.ts';
import { readPublishedKeys } from '../../adapters/jose/published-keys.ts';
import { askReadiness } from '../../adapters/outbound/readiness-report.ts';
import { reach } from '../../adapters/platform/http-network.ts';
import { timeLimit } from '../../adapters/platform/system-clock.ts';
import {
  agentKeysExamination,
  examineConsoleAddress,
  type OwnAddress,
  ownAddressExamination,
  publishesConfiguredKeys,
  sinkExamination,
} from '../../application/doctor/address.ts';
import { approvalKeysExamination, noticesExamination } from '../../application/doctor/approvals.ts';
import {
  EXAMINATION_LIMIT_MS,
  type Examination,
  examineAll,
  failed,
  type NamedFinding,
  skipped,
} from '../../application/doctor/examine.ts';
import {
  operatorExaminations,
  providerExaminations,
  receiverExaminations,
  type Signer,
} from '../../application/doctor/provider.ts';
import { publicClientsExamination } from '../../application/doctor/public-clients.ts';
import { readinessExamination } from '../../application/doctor/readiness.ts';
import { type PageClient, signInExaminations } from '../../application/doctor/sign-in.ts';
import { signingExaminations } from '../../application/doctor/signing.ts';
import { type SponsorQueries, sponsorExamination } from '../../application/doctor/sponsors.ts';
import { publishedListsExamination } from '../../application/doctor/status-lists.ts';
import { type OpenedStorage, storageExaminations } from '../../application/doctor/storage.ts';
import type { ConfiguredLog } from '../../application/doctor/transparency-log.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import type { SignInPlace } from '../../application/ports/storage.ts';
import { operatorRoles } from '../../domain/operators/operator.ts';
import { pushesRequest } from '../../domain/sessions/provider-demands.ts';
import { NO_KEY, provedArchivedPart } from '../archived-part.ts';
import { type CLIENT_SECRETS, loadClientSecret } from '../files/client-secret.ts';
import { sharedKeyFiles } from '../files/key-files.ts';
import {
  approvalsChoice,
  authorizeChoice,
  consoleChoice,
  logChoice,
  operatorsChoice,
  provisioningChoice,
  sinkChoice,
  sponsorCheckChoice,
  transmitterChoice,
  upstreamChoice,
} from '../settings/alternatives.ts';
import type { Settings, SettingsSection } from '../settings/settings.ts';
import { authorizeClient, type ConfiguredClient, consoleClient, meClient } from '../settings/sign-in-clients.ts';
import {
  askedOnce,
  clientTrial,
  type NetworkAccess,
  networkAccess,
  type PolledChoice,
  signerAt,
  usersService,
} from './provider-sources.ts';
import type { DoctorSettings } from './settings.ts';
import {
  askFor,
  askOwnAddress,
  type ConfiguredSigning,
  closeStorage,
  configuredSigning,
  openCondition,
  pageFileProblem,
  secretFileProblem,
} from './sources.ts';

/** Returns the findings about the settings, then those of every examination, in their order. */
export async function examineEverything(settings: DoctorSettings, clock: Clock): Promise<readonly NamedFinding[]> {
  const sources = openSources(settings, clock);
  const found = await examineAll(allExaminations(sources), timeLimit);
  await closeStorage(sources.opened);
  const shared = settings.whole === undefined ? [] : await sharedKeyFiles(settings.whole);
  const ofFiles = shared.map((sentence) => ({ check: 'settings', ...failed(sentence, 'Give each key its file.') }));
  return [...settings.findings, ...ofFiles, ...found];
}

/** Shared by several examinations. A source is `undefined` if a setting of it is invalid. */
interface Sources {
  readonly settings: DoctorSettings;
  readonly access: NetworkAccess;
  readonly signing: ConfiguredSigning | undefined;
  readonly opened: Promise<OpenedStorage> | undefined;
  readonly own: OwnAddress | undefined;
  /** Whether the provider could read the signing keys of these settings, as far as this machine sees. */
  readonly publishesKeys: () => Promise<boolean>;
  readonly upstream: SettingsSection<'Service:UpstreamIdp'> | undefined;
  readonly provider: Signer | undefined;
  /** The operators' own identity provider; `undefined` also if it is the one above. */
  readonly operatorProvider: Signer | undefined;
}

function openSources(settings: DoctorSettings, clock: Clock): Sources {
  const access = networkAccess(clock);
  const [database, signingSettings, upstream] = [
    settings.section('Service:Database'),
    settings.section('Service:Signing'),
    settings.section('Service:UpstreamIdp'),
  ];
  const signing = signingSettings && configuredSigning(signingSettings, settings.isDevelopment);
  const issuer = settings.whole?.['Service:Issuer'];
  const operatorIssuer = operatorsOf(settings)?.issuer;
  const own =
    issuer === undefined ? undefined : { issuer, ask: askedOnce(() => askOwnAddress(issuer, signing, access)) };
  return {
    settings,
    access,
    signing,
    opened: database && openCondition(database),
    own,
    publishesKeys: async () => own !== undefined && publishesConfiguredKeys(own),
    upstream,
    provider: upstream && signerAt(upstreamChoice(upstream), access),
    operatorProvider:
      operatorIssuer === undefined ? undefined : signerAt({ kind: 'issuer', issuer: operatorIssuer }, access),
  };
}

function operatorsOf(settings: DoctorSettings) {
  const [upstream, section] = [settings.section('Service:UpstreamIdp'), settings.section('Service:Operators')];
  return upstream && section && operatorsChoice({ ...upstream, ...section });
}

function allExaminations(sources: Sources): readonly Examination[] {
  const { settings, signing, own, access } = sources;
  return [
    ...(signing === undefined ? invalidSettings('signing keys') : signingExaminations(signing.loaded, signing.files)),
    ...ofStorage(sources),
    ...ofProvider(sources),
    ...ofPage(sources),
    ...ofStarts(sources),
    ...ofReceivers(sources),
    ...ofOperators(sources),
    ...ofConsole(sources),
    ...ofAgentKeys(settings),
    ...ofSink(settings),
    ...ofApprovals(sources),
    ...(own === undefined ? invalidSettings('own address') : ofOwnAddress(own, access)),
    ...ofPublishedLists(sources),
  ];
}

/** Half the time limit of an examination: a sink that accepts no connection in this time counts as unreachable. */
const REACH_LIMIT_MS = 5000;

function ofOwnAddress(own: OwnAddress, { network }: NetworkAccess): readonly Examination[] {
  const askReports = () => askReadiness(own.issuer, network, EXAMINATION_LIMIT_MS);
  return [ownAddressExamination(own), readinessExamination(askReports)];
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

function ofPublishedLists({ settings, signing, own, access }: Sources): readonly Examination[] {
  const lists = statusLists(settings);
  if (lists === undefined || own === undefined) return [];
  return [
    publishedListsExamination({
      issuer: own.issuer,
      ttl: lists['Service:StatusLists:Ttl'],
      clock: access.clock,
      ask: (url) => askFor(url, access),
      verify: async (jws) => (await signing?.signingKeys())?.verify(jws),
    }),
  ];
}

/** Skips checks whose settings are invalid; the findings about the settings name them. */
function invalidSettings(...checks: readonly string[]): readonly Examination[] {
  return checks.map((check) => ({ check, examine: async () => skipped('Its settings are wrong.') }));
}

function ofStorage({ settings, signing, opened, upstream, access }: Sources): readonly Examination[] {
  const audit = settings.section('Service:Audit');
  if (opened === undefined || audit === undefined) return invalidSettings('database');
  return storageExaminations(opened, {
    clock: access.clock,
    isDevelopment: settings.isDevelopment,
    monthsAhead: audit['Service:Audit:Partitions:MonthsAhead'],
    checkpointInterval: audit['Service:Audit:Checkpoint:Interval'],
    keysAreSubjects: upstream?.['Service:UpstreamIdp:SponsorKeyClaim'] === 'sub',
    hasSink: sinkChoice(audit) !== undefined,
    listEntries: statusLists(settings)?.['Service:StatusLists:Entries'],
    maxTokenTtl: settings.section('Service:Agents')?.['Service:Agents:MaxTokenTtl'],
    hasDelegation: settings.section('Service:Delegation')?.['Service:Delegation:Enabled'] === true,
    mayEndNothing: [
      ...(logoutsLeaveTasks(settings, upstream) ? (['logout'] as const) : []),
      ...(settings.section('Service:Ssf')?.['Service:Ssf:Issuer'] === undefined ? [] : (['ssf'] as const)),
    ],
    transparencyLog: configuredLog(settings),
    kids: async () => signing?.kids(),
    // Without keys it believes no record: a row without its record is then reported.
    archivedPart: async (checkpoints) => provedArchivedPart(checkpoints, (await signing?.verifier()) ?? NO_KEY)(),
  });
}

function logoutsLeaveTasks(settings: DoctorSettings, upstream: UpstreamSection | undefined): boolean {
  if (upstream === undefined || !endsTasksAtLogout(settings, upstream)) return false;
  return !upstream['Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession'];
}

/** Whether a logout token can end tasks. */
function endsTasksAtLogout(settings: DoctorSettings, upstream: UpstreamSection): boolean {
  const ofDoor = settings.section('Service:Authorize')?.['Service:Authorize:ClientId'];
  return upstream['Service:UpstreamIdp:BackchannelLogout:Audience'] !== undefined || ofDoor !== undefined;
}

type UpstreamSection = SettingsSection<'Service:UpstreamIdp'>;

function ofProvider(sources: Sources): readonly Examination[] {
  const { upstream, provider } = sources;
  if (upstream === undefined || provider === undefined) return invalidSettings('provider discovery', 'sponsor check');
  const chosen = sponsorCheckChoice(upstream);
  return [
    ...providerExaminations(provider),
    sponsorExamination(() => (chosen.mode === 'signals' ? undefined : sponsorQueries(chosen, provider, sources))),
  ];
}

async function sponsorQueries(
  chosen: PolledChoice,
  provider: Signer,
  { signing, publishesKeys, access }: Sources,
): Promise<SponsorQueries | 'unusable'> {
  const keys = await signing?.signingKeys();
  if (keys === undefined) return 'unusable';
  const client = 'bearerToken' in chosen.access ? undefined : chosen.access;
  async function current() {
    const metadata = await provider.metadata();
    return 'problem' in metadata ? undefined : metadata.description;
  }
  return {
    needsMetadata: client?.assertionAudience === 'issuer',
    addresses: [chosen.usersUrl, ...(client === undefined ? [] : [client.tokenUrl])],
    hasBearerToken: client === undefined,
    metadata: provider.metadata,
    tryUsers: () => tryUsers(usersService(chosen, keys, { current }, access)),
    publishesKeys,
  };
}

/** The client of a place where people or operators sign in. */
interface ExaminedClient extends Pick<PageClient, 'check' | 'claims' | 'fileProblem' | 'accessTokenAudience'> {
  readonly client: ConfiguredClient;
  readonly kind: SignInPlace;
  readonly secretSetting: (typeof CLIENT_SECRETS)[number];
}

function ofSignIn(
  { client, kind, secretSetting, ...examined }: ExaminedClient,
  settings: Settings,
  provider: Signer,
  { signing, publishesKeys, opened, access }: Sources,
): readonly Examination[] {
  const { clientId, redirectUri, signedOutUri, assertionAudience, pushedAuthorization } = client;
  const isPlain = new URL(provider.address).protocol === 'http:';
  return signInExaminations({
    ...examined,
    clientId,
    returnAddress: redirectUri,
    signedOutAddress: signedOutUri,
    assertionAudience,
    pushedAuthorization,
    issuer: settings['Service:Issuer'],
    hasSecret: settings[secretSetting] !== undefined,
    metadata: provider.metadata,
    unusableEndpoints: (document) => unusableEndpoints(document, isPlain, pushesRequest(document, pushedAuthorization)),
    tryClient: askedOnce(async (document) => {
      const clientSecret = await loadClientSecret(settings, secretSetting);
      return clientTrial({ ...client, clientSecret }, { document, isPlain }, await signing?.signingKeys(), access);
    }),
    publishesKeys,
    async signIns(question) {
      const storage = await opened;
      if (storage?.kind !== 'opened') return undefined;
      // Other checks report a database that does not answer.
      return storage.condition.signIns({ kind, ...question }).catch(() => undefined);
    },
    clock: access.clock,
  });
}

/** No examination without the page. */
function ofPage(sources: Sources): readonly Examination[] {
  const { provider } = sources;
  const { whole } = sources.settings;
  const client = whole && meClient(whole);
  if (whole === undefined || client === undefined || provider === undefined) return [];
  const examined: ExaminedClient = {
    check: 'sign-in',
    client,
    kind: 'me',
    secretSetting: 'Service:Me:ClientSecret:Path',
    claims: [...claimsOf(whole), ...signInTime(whole)],
    fileProblem: () => pageFileProblem(whole),
  };
  return ofSignIn(examined, whole, provider, sources);
}

/** No examination without `Service:Authorize:ClientId`. */
function ofStarts(sources: Sources): readonly Examination[] {
  const { provider } = sources;
  const { whole } = sources.settings;
  const client = whole && authorizeClient(whole);
  const chosen = whole && authorizeChoice(whole);
  if (whole === undefined || client === undefined || chosen === undefined || provider === undefined) return [];
  const secretSetting = 'Service:Authorize:ClientSecret:Path';
  const examined: ExaminedClient = {
    check: 'authorize',
    client,
    kind: 'authorization',
    secretSetting,
    claims: [
      ...claimsOf(whole),
      ...(chosen.maxAuthAge === undefined ? [] : ['auth_time (Service:Authorize:MaxAuthAge)']),
    ],
    accessTokenAudience: whole['Service:UpstreamIdp:Audience'],
    fileProblem: () => secretFileProblem(whole, secretSetting),
  };
  return [...ofSignIn(examined, whole, provider, sources), publicClientsExamination(chosen.publicClients)];
}

/** The claim that says when a person signed in, with what needs it. */
function signInTime(settings: Settings): readonly string[] {
  const uses = [
    ...(settings['Service:Me:Pause'] ? ['to pause agents'] : []),
    ...(settings['Service:Approvals:Enabled'] ? ['to say yes to an action'] : []),
  ];
  return uses.length === 0 ? [] : [`auth_time (${uses.join(', and ')})`];
}

function ofReceivers({ settings, upstream, access }: Sources): readonly Examination[] {
  const [scim, ssf] = [settings.section('Service:Scim'), settings.section('Service:Ssf')];
  if (upstream === undefined || scim === undefined || ssf === undefined) return invalidSettings('receivers');
  const transmitter = transmitterChoice(ssf);
  return receiverExaminations({
    backchannelLogout: endsTasksAtLogout(settings, upstream),
    refuseLoggedOut: upstream['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
    scim: provisioningChoice(scim) !== undefined,
    transmitter: transmitter && signerAt({ kind: 'transmitter', issuer: transmitter.issuer }, access),
    mode: sponsorCheckChoice(upstream).mode,
    sponsorKeyClaim: upstream['Service:UpstreamIdp:SponsorKeyClaim'],
  });
}

function ofOperators({ settings, upstream, operatorProvider }: Sources): readonly Examination[] {
  if (upstream === undefined || settings.section('Service:Operators') === undefined)
    return invalidSettings('operators');
  const chosen = operatorsOf(settings);
  if (chosen === undefined) return [];
  const vacant = operatorRoles.filter((role) => chosen.roles[role] === undefined);
  return operatorExaminations({ provider: operatorProvider, vacant });
}

/** The claim that names a person, unless it is in every ID token. */
function claimsOf({ 'Service:UpstreamIdp:SponsorKeyClaim': claim }: Settings): readonly string[] {
  return claim === 'sub' ? [] : [claim];
}

/** No examination without the console. */
function ofConsole(sources: Sources): readonly Examination[] {
  const { settings, access } = sources;
  const { whole } = settings;
  const provider = sources.operatorProvider ?? sources.provider;
  const chosen = whole && consoleChoice(whole);
  const client = whole && consoleClient(whole);
  if (whole === undefined || chosen === undefined || client === undefined || provider === undefined) return [];
  const roleClaim = operatorsOf(settings)?.roleClaim;
  const secretSetting = 'Service:Operators:ClientSecret:Path';
  const examined: ExaminedClient = {
    check: 'console',
    client,
    kind: 'operator',
    secretSetting,
    claims: [...(roleClaim === undefined ? [] : [roleClaim]), ...claimsOf(whole)],
    fileProblem: () => secretFileProblem(whole, secretSetting),
  };
  return [
    ...ofSignIn(examined, whole, provider, sources),
    {
      check: 'console address',
      async examine() {
        // The code of the console is loaded only with its settings.
        const { assets } = await import('../../adapters/http/console/assets.ts');
        const { path, bytes } = assets.style;
        const ask = (url: string) => askFor(url, access);
        return examineConsoleAddress({ url: `${chosen.origin}${path}`, content: bytes.toString('utf8'), ask });
      },
    },
  ];
}

function ofAgentKeys(settings: DoctorSettings): readonly Examination[] {
  const agentKeys = settings.section('Service:AgentKeys');
  if (agentKeys === undefined) return invalidSettings('agent keys');
  return [agentKeysExamination(agentKeys['Service:AgentKeys:BlockPrivateNetworks'])];
}

function ofSink(settings: DoctorSettings): readonly Examination[] {
  const audit = settings.section('Service:Audit');
  if (audit === undefined) return invalidSettings('sink');
  return [sinkExamination(sinkChoice(audit)?.url, reach, REACH_LIMIT_MS)];
}

/** No examination without approvals. */
function ofApprovals({ settings, access }: Sources): readonly Examination[] {
  const section = settings.section('Service:Approvals');
  if (section === undefined) return invalidSettings('approval keys');
  const chosen = approvalsChoice(section);
  if (chosen === undefined) return [];
  const remote = chosen.resources.flatMap(({ audience, keys }) =>
    keys.kind === 'remote' ? { audience, ...keys } : [],
  );
  const fetchKeys = () =>
    Promise.all(
      remote.map(async ({ audience, uri }) => {
        const { problem } = await readPublishedKeys(uri, access.network, TOOL_SERVER_KEY_SET);
        return { audience, problem };
      }),
    );
  return [
    approvalKeysExamination(fetchKeys, chosen.resources.length - remote.length),
    ...(chosen.notify === undefined ? [] : [noticesExamination(chosen.notify.url, reach, REACH_LIMIT_MS)]),
  ];
}
