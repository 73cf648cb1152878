/** The names and types of a running service's parts: those given to the wiring, and those that it creates. */

import type { AdminAccess } from '../adapters/http/admin/operator-router.ts';
import type { OperatorAccess } from '../adapters/http/admin/operators.ts';
import type { AdmissionControl } from '../adapters/http/admission/admission.ts';
import type { HttpApp, HttpSurfaces } from '../adapters/http/app.ts';
import type { AuthorizePath } from '../adapters/http/authorize/authorize-path.ts';
import type { OptionalPath } from '../adapters/http/routes.ts';
import type { Circuit } from '../adapters/identity-provider/circuit.ts';
import type { FetchedAgentKeys } from '../adapters/jose/agent-keys.ts';
import type { FetchedApprovalKeys } from '../adapters/jose/approval-keys.ts';
import type { RefreshedProviderKeys } from '../adapters/jose/provider-keys.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import type { Observed } from '../adapters/telemetry/service-gauges.ts';
import type { explaining } from '../application/admin/explaining.ts';
import type { AnonymousDenials } from '../application/ledger/anonymous-denials.ts';
import type { FindArchivedPart } from '../application/ledger/find-archived-part.ts';
import type { RecordStream } from '../application/ledger/record-stream.ts';
import type { SealedTrees } from '../application/ledger/sealed-trees.ts';
import type { TrustedChain } from '../application/ledger/trusted-chain.ts';
import type { LogProofOutcome } from '../application/log/prove-in-log.ts';
import type { NoticeReceiver } from '../application/ports/approvals.ts';
import type { ClientDocuments } from '../application/ports/client-documents.ts';
import type { ProviderMetadata, SponsorDirectory } from '../application/ports/identity-provider.ts';
import type { NoteSigner, SigningKeys } from '../application/ports/keys.ts';
import type { Network } from '../application/ports/network.ts';
import type { Sink } from '../application/ports/outbox.ts';
import type { Clock, Monotonic, Randomness, ReadinessCheck } from '../application/ports/runtime.ts';
import type { Log, Measurements, Tracing } from '../application/ports/telemetry.ts';
import type { TransparencyLog } from '../application/ports/transparency-log.ts';
import type { ClockWatch } from '../application/upkeep/clock-watch.ts';
import type { Checkpoint } from '../domain/ledger/checkpoint.ts';
import type { RequestedAct } from '../domain/operators/operator-act.ts';
import type { Jobs } from './recurring.ts';
import type { Settings } from './settings/settings.ts';

/** The inputs of the wiring: settings, the runtime, and resources that are opened asynchronously. */
export interface Given {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly randomness: Randomness;
  readonly log: Log;
  readonly network: Network;
  /** `undefined` if no metrics are published. */
  readonly measurements: Measurements | undefined;
  /** `undefined` without spans. */
  readonly tracing: Tracing | undefined;
  readonly opened: Storage;
  readonly signingKeys: SigningKeys;
  /** `undefined` without `Service:Audit:Log:Key`. */
  readonly noteSigner: NoteSigner | undefined;
  /** Makes the transparency log; `undefined` without `Service:Audit:Log:Key`. */
  readonly openLog: ((parts: Parts) => LogParts | undefined) | undefined;
  /** Makes the surface `/me`; `undefined` if it is not configured. */
  readonly openMe: ((parts: Parts) => HttpSurfaces['me']) | undefined;
  readonly openAuthorize: ((parts: Parts) => AuthorizePath) | undefined;
  /** Makes the console; `undefined` if it is not configured. */
  readonly openConsole: ((parts: Parts) => HttpApp) | undefined;
}

/** Operators with names: who they are, and the records of their acts. */
export interface Operators {
  readonly access: OperatorAccess;
  readonly twoPersons: boolean;
  explain(storage: Storage, act: RequestedAct): ReturnType<typeof explaining<Storage>>;
}

/** The transparency log of a running service. */
export interface LogParts {
  /** Its path for readers. */
  path(access: AdminAccess): OptionalPath;
  readonly readiness: ReadinessCheck;
  /** @param stored the log, or the log whose calls are spans of a trace */
  prove(stored: Pick<TransparencyLog, 'tiles'>, checkpoint: Checkpoint): Promise<LogProofOutcome>;
  /**
   * Before the first request: records the keys, and creates the log or begins to ask its witnesses. @throws StartupError for
   * another origin
   */
  start(): Promise<void>;
  /** One pass. It starts the log if the database did not answer before. */
  grow(shouldContinue?: () => boolean): Promise<void>;
  askWitnesses(): Promise<void>;
}

/** The parts that the wiring creates. */
export interface Made {
  /** Counts its refusals if metrics are published. */
  readonly storage: Storage;
  /** The same storage for caches that outlast requests: its calls are in no trace. */
  readonly sharedStorage: Storage;
  readonly agentKeys: FetchedAgentKeys;
  /** The documents of clients of `/oauth2/authorize`. */
  readonly clientDocuments: ClientDocuments;
  /** `undefined` without `Service:Approvals:Enabled`. */
  readonly approvalKeys: FetchedApprovalKeys | undefined;
  readonly providerMetadata: ProviderMetadata;
  readonly providerKeys: RefreshedProviderKeys;
  /** `undefined` without `Service:Ssf`. */
  readonly transmitterKeys: RefreshedProviderKeys | undefined;
  /** The metadata of the operators' own identity provider, as below. */
  readonly operatorMetadata: ProviderMetadata | undefined;
  /** The keys of the operators' own identity provider; `undefined` if they use the upstream's, or there are no operators. */
  readonly operatorKeys: RefreshedProviderKeys | undefined;
  /** `undefined` in mode `signals`, as is the directory. */
  readonly circuit: Circuit | undefined;
  readonly directory: SponsorDirectory | undefined;
  readonly anonymousDenials: AnonymousDenials;
  readonly sealedTrees: SealedTrees;
  readonly archivedPart: FindArchivedPart;
  readonly trustedChain: TrustedChain;
  /** `undefined` without `Service:Audit:Log:Key`. */
  readonly transparencyLog: LogParts | undefined;
  /** `undefined` without `Service:Operators`. */
  readonly recordStream: RecordStream | undefined;
  /** `undefined` without `Service:Audit:Sink:Url`. */
  readonly sink: Sink | undefined;
  /** `undefined` without `Service:Approvals:Notify:Url`. */
  readonly noticeReceiver: NoticeReceiver | undefined;
  readonly admission: Pick<AdmissionControl, 'rates' | 'limiters'>;
  /** `undefined` if the admin key is the only way in. */
  readonly operators: Operators | undefined;
  readonly receivers: Pick<HttpSurfaces, 'backchannelLogout' | 'events' | 'scim'>;
  readonly me: HttpSurfaces['me'];
  /** `undefined` without `Service:Authorize:ClientId`. */
  readonly authorize: AuthorizePath | undefined;
  readonly surfaces: HttpSurfaces;
  /** The console, if it is configured. */
  readonly console: HttpApp | undefined;
  readonly clockWatch: ClockWatch;
  readonly jobs: Jobs;
  readonly observed: Observed;
}

/** Each part is created once, when it is first read: destructure what is needed, and never spread this object. */
export type Parts = Given & Made;
