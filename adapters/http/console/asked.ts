/** What a screen gets and gives, and what a form does. */

import type { Request, Response } from 'express';
import type { Report } from '../../../application/doctor/shared-examination.ts';
import type { FieldError } from '../../../domain/field-error.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { OperatorPerson, OperatorRole } from '../../../domain/operators/operator.ts';
import type { AdminSurface } from '../admin/admin-router.ts';
import type { AuditSurface } from '../admin/audit-router.ts';
import type { Asset } from '../browser/assets.ts';
import type { Html } from '../browser/html.ts';
import type { BrowserSession } from '../browser/session.ts';
import type { Notice } from './notices.ts';
import type { OverviewSurface } from './overview-surface.ts';
import type { ScreenName } from './screens.ts';
import type { ViewsSurface } from './views-surface.ts';

/** What a screen or form gets. `holder` is the operator. */
export interface Asked extends Pick<BrowserSession<OperatorPerson>, 'holder' | 'formToken' | 'signsOutEverywhere'> {
  /** Whether a screen shows what needs the role. The form checks it again. */
  may(role: OperatorRole): boolean;
  readonly now: Instant;
  /** The use cases of `/admin`. In a form, its decisions record the operator, the role and the reason. */
  readonly admin: AdminSurface;
  /** The use cases of `/audit`: for an auditor only. */
  readonly audit: AuditSurface;
  readonly views: ViewsSurface;
  readonly overview: OverviewSurface;
  /** The findings of the doctor. It takes at most some seconds, and runs once at a time. */
  examine(): Promise<Report>;
  /** Whether the operator's session still lasts, and still has the role of this route. */
  lasts(): Promise<boolean>;
}

/** A page. */
export interface Shown {
  /** 200 by default. */
  readonly status?: number;
  /** In place of the screen's. */
  readonly title?: string;
  readonly body: Html;
  readonly scripts?: readonly Asset[];
  /** A fixed word for the log. */
  readonly reason?: string;
}

/** Reads what the screen shows, and renders it. */
export type Show = (asked: Asked, request: Request) => Promise<Shown>;

/** A field of the form. `undefined` if the form does not have it, or it is empty. */
export type Field = (name: string) => string | undefined;

export type Done =
  /** The browser goes there. `to` is a path with its query. */
  | { readonly kind: 'done'; readonly to: string; readonly notice?: Notice | undefined }
  /** A page says why, and links back. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly title: string;
      readonly text: string;
      readonly errors?: readonly FieldError[];
      readonly back?: string;
      /** A fixed word for the log. */
      readonly reason: string;
    };

/** What a form does. The session, the origin, the role and the reason are checked before. */
export type Act = (asked: Asked, field: Field) => Promise<Done>;

/** What a form with a file shows. The session, the origin and the role are checked before. */
export type ReadForm = (asked: Asked, file: Uint8Array) => Promise<Shown>;
/** Answers a request of a script. The session and the role are checked before. */
export type Feed = (asked: Asked, request: Request, response: Response) => Promise<void>;

export type Shows = Readonly<Record<ScreenName, Show>>;
