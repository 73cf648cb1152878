/**
 * The types of a screen, and the flow of a request through this folder:
 *
 * 1. console-app.ts is the application of the console's own listener. It answers the sign-in, and hands the rest on.
 * 2. console-router.ts finds the request's row in the table (screens.ts), and checks the session, the origin and the role.
 * 3. It hands a `ScreenContext` to the row: a screen, a form or a feed of one file in `screens/`.
 * 4. A screen reads through the context and renders its page, from the pieces in `parts/`. layout.ts adds the header.
 * 5. A form changes something through the context. It answers with an address and a notice, or with a refusal.
 * 6. A feed answers a script of `assets/`.
 */

import type { Request, Response } from 'express';
import type { ComparedDeclaration } from '../../../application/admin/compare-declarations.ts';
import type { DelegationQuestion, Delegations } from '../../../application/admin/find-delegations.ts';
import type { Named } from '../../../application/admin/nearest-names.ts';
import type { RecentDenials } from '../../../application/admin/recent-denials.ts';
import type { Report } from '../../../application/doctor/shared-examination.ts';
import type { NewestCheckpoints } from '../../../application/ledger/query.ts';
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
import type { FormField } from '../browser/guards.ts';
import type { Html } from '../browser/html.ts';
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

/** A page. */
export interface Page {
  /** 200 by default. */
  readonly status?: number;
  /** Replaces the title of the screen. */
  readonly title?: string;
  readonly body: Html;
  readonly scripts?: readonly Asset[];
  /** A fixed word for the log. */
  readonly reason?: string;
}

/** Reads what the screen shows, and renders it. */
export type ShowPage = (context: ScreenContext, request: ScreenRequest) => Promise<Page>;

/** The part of a request that a screen reads. After a refused form it is the address of the screen to which the form belongs. */
export type ScreenRequest = Pick<Request, 'originalUrl' | 'params' | 'permit'>;

export type FormResult =
  /** The browser goes there. `to` is a path with its query. */
  | { readonly kind: 'done'; readonly to: string; readonly notice?: Notice | undefined }
  /** The page at `back` says why, and shows the form again. Without `back` a page says why, and links to the screen. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly title: string;
      readonly text: string;
      readonly errors?: readonly FieldError[];
      readonly back?: string | undefined;
      /** A fixed word for the log. */
      readonly reason: string;
    };

/** The change that a form makes. The session, the origin, the role and the reason are checked before. */
export type ChangeByForm = (context: ScreenContext, field: FormField) => Promise<FormResult>;

/** Reads the file of a form, and renders a page. The session, the origin and the role are checked before. */
export type ReadFile = (context: ScreenContext, file: Uint8Array) => Promise<Page>;

/** Answers a request of a script. The session and the role are checked before. */
export type AnswerScript = (context: ScreenContext, request: Request, response: Response) => Promise<void>;

/** One file a screen. Each part has the role of the route of the API that does the same; a refusal is recorded under it. */
export interface Screen extends Row {
  readonly title: string;
  /** Where its forms lead back to, if its own path has parameters. */
  readonly back?: string;
  /** Whether every page links to it. */
  readonly inNavigation: boolean;
  readonly show: ShowPage;
  /** A refused form shows this screen again. The address of a form redirects to it. */
  readonly forms?: Readonly<Record<string, ScreenForm>>;
  /** Forms that only read: their content is too long for an address. They need no reason. */
  readonly fileForms?: Readonly<Record<string, ScreenFileForm>>;
  /** The answers to the screen's scripts. */
  readonly feeds?: Readonly<Record<string, ScreenFeed>>;
}

export interface Row {
  readonly path: string;
  readonly route: AdminRoute;
  /** The permits that a request takes (admission): requests that read must not delay those that stop tasks. */
  readonly work: Work;
}

export interface ScreenForm extends Row {
  /** The address of the page with the form, by its fields. `undefined` for fields that name none. */
  back(field: FormField): string | undefined;
  readonly change: ChangeByForm;
}

export interface ScreenFileForm extends Row {
  readonly title: string;
  readonly read: ReadFile;
}

export interface ScreenFeed extends Row {
  /** Whether a request counts as a use of the session. The stream and *Now* ask again by themselves. */
  readonly renews: boolean;
  readonly answer: AnswerScript;
}

/** Reads for *Now* and the kill switch that the API does not have. */
export interface OverviewSurface {
  countLive(of: LiveTasksQuestion['of']): Promise<LiveTaskCount>;
  readonly sponsors: Pick<Sponsors, 'countBlocks' | 'pendingLift'>;
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
  /** The checkpoints, newest first. For an auditor only. @param question.before `undefined` for the first page */
  checkpoints(question: { readonly before: number | undefined; readonly limit: number }): Promise<NewestCheckpoints>;
  /** The denials of the last ten minutes. For an auditor only. */
  denials(now: Instant): Promise<RecentDenials>;
  delegations(question: DelegationQuestion): Promise<Delegations>;
  /** The approvals of a task with their words, newest first. `undefined` without `Service:Approvals:Enabled`. */
  readonly approvalsOf:
    | ((taskId: TaskId, limit: number) => Promise<readonly Compared<Approval, unknown>[]>)
    | undefined;
  /** Compares the agents that a YAML file declares with the registered ones. */
  compare(file: string, bytes: Uint8Array): Promise<Comparison>;
  /** Seconds: the longest life of a token that a registration may name. */
  readonly longestTokenTtl: number;
  /** Seconds until a tool server with status lists refuses an ended task; `undefined` without them. */
  readonly statusLists: number | undefined;
}

export type Comparison =
  | { readonly kind: 'compared'; readonly agents: readonly ComparedDeclaration[] }
  /** The file exceeds a limit, and was not parsed. The sentence names the line. */
  | { readonly kind: 'too_much'; readonly problem: string }
  /** A sentence for each problem, with its line. */
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };
