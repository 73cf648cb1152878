/**
 * The types of a screen, and the flow of a request through this folder:
 *
 * 1. console-app.ts is the application of the console's own listener. It answers the sign-in, and hands the rest on.
 * 2. adapters/http/browser/page-router.ts finds the request's row in the table (screens.ts), and checks the session and the
 *    origin; console-router.ts checks the role, and the reason of a change.
 * 3. The row gets a `ScreenContext`. It is a screen, a form or a feed of one file in `screens/`.
 * 4. A screen reads through the context and renders its page, from the pieces in `parts/`. layout.ts adds the header.
 * 5. A form changes something through the context. It answers with an address and a notice, or with a refusal.
 * 6. A feed answers a script of `assets/`.
 */

import type { ComparedDeclaration } from '../../../application/admin/compare-declarations.ts';
import type { DelegationQuestion, Delegations } from '../../../application/admin/find-delegations.ts';
import type { ListApprovalsQuestion, ListedApprovals } from '../../../application/admin/list-approvals.ts';
import type { Named } from '../../../application/admin/nearest-names.ts';
import type { Report } from '../../../application/doctor/shared-examination.ts';
import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import type { Ledger } from '../../../application/ports/ledger.ts';
import type { Sponsors } from '../../../application/ports/sponsors.ts';
import type { Backlog } from '../../../application/ports/storage.ts';
import type { LiveTaskCount, LiveTasksQuestion } from '../../../application/ports/tasks.ts';
import type { Approval } from '../../../domain/approvals/approval.ts';
import type { FieldError } from '../../../domain/field-error.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import type { OperatorPerson, OperatorRole } from '../../../domain/operators/operator.ts';
import type { AdminSurface } from '../admin/admin-router.ts';
import type { AuditSurface } from '../admin/audit-router.ts';
import type { AdminRoute } from '../admin/roles.ts';
import type { Asset } from '../browser/assets.ts';
import type { Html } from '../browser/html.ts';
import type { Feed, FileForm, FormField, FormResult, Page, PageForm, PageKind } from '../browser/pages.ts';
import type { BrowserSession } from '../browser/session.ts';
import type { Work } from '../routes.ts';
import type { Notice } from './notices.ts';

/** Everything that a screen or form may read and use. `holder` is the operator. */
export interface ScreenContext
  extends Pick<BrowserSession<OperatorPerson>, 'holder' | 'formToken' | 'signsOutEverywhere'> {
  /** Whether a screen shows what needs the role. The form checks it again. */
  may(role: OperatorRole): boolean;
  readonly now: Instant;
  /** The use cases of `/admin`. In a form, its decisions record the operator, the role and the reason. */
  readonly admin: AdminSurface;
  /** The use cases of `/audit`: for an auditor only. */
  readonly audit: AuditSurface;
  readonly views: ViewsSurface;
  readonly overview: OverviewSurface;
  /** The form that was refused just now: the screen shows it again, with what was typed. */
  readonly refused?: RefusedForm | undefined;
  /** The findings of the doctor. It takes at most some seconds, and runs once at a time. */
  examine(): Promise<Report>;
  /** Whether the operator's session still lasts, and still has the role of this route. */
  lasts(): Promise<boolean>;
}

export interface RefusedForm {
  /** The path of the form. */
  readonly path: string;
  readonly field: FormField;
}

/** What a screen shows. */
export interface Shown {
  /** 200 by default. */
  readonly status?: number;
  /** Replaces the title of the screen. */
  readonly title?: string;
  readonly body: Html;
  readonly scripts?: readonly Asset[];
  /** A fixed word for the log. */
  readonly reason?: string;
}

/** The page at `back` says why, and shows the form again. Without `back` a page says why, and links to the screen. */
export interface Refusal {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly errors?: readonly FieldError[];
  readonly back?: string | undefined;
  /** A fixed word for the log. */
  readonly reason: string;
}

/** Each row has the role of the route of the API that does the same; a refusal is recorded under that route. */
interface Access {
  readonly route: AdminRoute;
  /** The permits that a request takes (admission): requests that read must not delay those that stop tasks. */
  readonly work: Work;
}

export interface ConsolePages extends PageKind {
  readonly holder: OperatorPerson;
  readonly context: ScreenContext;
  readonly row: Access;
  readonly page: {
    readonly title: string;
    /** Whether every page links to it. */
    readonly inNavigation: boolean;
  };
  readonly shown: Shown;
  readonly refusal: Refusal;
  readonly notice: Notice['kind'];
}

/** One file a screen. A refused form shows its screen again. */
export type Screen = Page<ConsolePages>;
export type ScreenFeed = Feed<ConsolePages>;
export type ShowScreen = Screen['show'];
/** The session, the origin, the role and the reason are checked before. */
export type ChangeByForm = PageForm<ConsolePages>['change'];
export type ReadFile = FileForm<ConsolePages>['read'];
export type AnswerScript = ScreenFeed['answer'];
export type ChangeResult = FormResult<ConsolePages>;

/** Reads for *Now* and the kill switch that the API does not have. */
export interface OverviewSurface {
  countLive(of: LiveTasksQuestion['of']): Promise<LiveTaskCount>;
  /** The earlier clock of this machine and the database. */
  earliest(): Instant | Promise<Instant>;
  backlog(): Promise<Backlog>;
  /** How many approvals wait for people, up to `MOST_COUNTED`. `undefined` without `Service:Approvals:Enabled`. */
  readonly countWaiting: (() => Promise<number>) | undefined;
  readonly hasSink: boolean;
  /** `Service:Audit:Checkpoint:Interval`, in seconds. */
  readonly sealsEvery: number;
  /** `Service:Operators:StopEverything`. */
  readonly mayStopEverything: boolean;
  /** `Service:Operators:TwoPersonUnblock`. */
  readonly twoPersons: boolean;
  /** Seconds until a tool server with status lists refuses an ended task; `undefined` without them. */
  readonly statusLists: number | undefined;
}

/** Counting stops here: an operator reacts in the same way to more. */
export const MOST_COUNTED = 100_000;

/** Reads for the other screens that the API does not have. */
export interface ViewsSurface {
  /** Names that were probably meant, where nothing has the typed one. */
  nearest(what: Named, typed: string): Promise<readonly string[]>;
  /** What a screen asks by itself, or through a use case that only reads. The ledger and checkpoints are for an auditor only. */
  readonly ports: {
    readonly sponsors: Sponsors;
    readonly ledger: Ledger;
    readonly checkpoints: Omit<Checkpoints, 'add'>;
  };
  delegations(question: DelegationQuestion): Promise<Delegations>;
  /** `undefined` without `Service:Approvals:Enabled`. */
  readonly approvalsOf: ((taskId: TaskId, limit: number) => Promise<ApprovalsOfTask>) | undefined;
  /** `undefined` without `Service:Approvals:Enabled`. */
  readonly listApprovals: ((question: ListApprovalsQuestion) => Promise<ListedApprovals>) | undefined;
  /** Compares the agents that a YAML file declares with the registered ones. */
  compare(file: string, bytes: Uint8Array): Promise<Comparison>;
  /** Seconds: the longest life of a token that a registration may name. */
  readonly longestTokenTtl: number;
}

/** The approvals of a task with their words. */
export interface ApprovalsOfTask {
  readonly newest: readonly Compared<Approval, unknown>[];
  /** By the later of the shared clocks. An approval that is over by this one is over for its person, too. */
  readonly latest: Instant;
}

export type Comparison =
  | { readonly kind: 'compared'; readonly agents: readonly ComparedDeclaration[] }
  /** The file exceeds a limit, and was not parsed. The sentence names the line. */
  | { readonly kind: 'too_much'; readonly problem: string }
  /** A sentence for each problem, with its line. */
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };
