/** The site of the console: what adapters/http/browser/page-router.ts needs to know of operators, roles and reasons. */

import express, { type Response, type Router } from 'express';
import type { Report } from '../../../application/doctor/shared-examination.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type OperatorPerson, roleFor } from '../../../domain/operators/operator.ts';
import type { RequestedAct } from '../../../domain/operators/operator-act.ts';
import { parseReason, REASON_SENTENCE } from '../../../domain/operators/reason.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { type ActedOn, actedOnBy } from '../acted-on.ts';
import type { AdminSurface } from '../admin/admin-router.ts';
import type { AuditSurface } from '../admin/audit-router.ts';
import { isSwitchedOff } from '../admin/operators.ts';
import { type AdminRoute, adminRoutes } from '../admin/roles.ts';
import { serveAssets } from '../browser/assets.ts';
import { answerFaultsWithPages } from '../browser/faults.ts';
import { html } from '../browser/html.ts';
import { FORM_PAGE_HEADERS } from '../browser/page-headers.ts';
import { servePages } from '../browser/page-router.ts';
import type { Asked, FormField, PageForm, Row, Site } from '../browser/pages.ts';
import { parametersOf } from '../browser/paths.ts';
import type { BrowserSession, BrowserSessions } from '../browser/session.ts';
import { discardRest } from '../message/body.ts';
import { neverStored } from '../message/head.ts';
import { methodNotAllowed } from '../message/problem-details.ts';
import { assets } from './assets.ts';
import type {
  ChangeResult,
  ConsolePages,
  OverviewSurface,
  Refusal,
  RefusedForm,
  Screen,
  ScreenContext,
  ViewsSurface,
} from './context.ts';
import { consoleCookies } from './cookies.ts';
import { renderDocument } from './layout.ts';
import { type MessageKind, refusalBanner, renderMessage, renderMissingRole, renderRefusal } from './messages.ts';
import { noticeCookie, noticeText } from './notices.ts';
import { screens } from './screens.ts';

export interface ConsoleSurface {
  /** `Service:Console:Origin`. */
  readonly origin: string;
  readonly admin: ActedOn<AdminSurface>;
  readonly audit: AuditSurface;
  readonly views: ViewsSurface;
  readonly overview: OverviewSurface;
  readonly sessions: BrowserSessions<OperatorPerson>;
  /** Runs the checks of the doctor, or waits for those that run. */
  examine(): Promise<Report>;
  /** Records that a person lacks the role for a route. */
  refuseRole(operator: OperatorPerson, route: AdminRoute, trace?: Trace): Promise<void>;
  /** Records a write without a session, or from another page. The record names no person. */
  refuse(reason: 'missing_token' | 'invalid_form_token', trace?: Trace): Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** @param shown in the order of the navigation */
export function consoleRouter(
  surface: ConsoleSurface,
  shown: readonly Screen[] = Object.values<Screen>(screens),
): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  serveAssets(router, '', Object.values(assets));
  router.use(neverStored);
  servePages(router, consoleSite(surface), shown);
  router.all(
    Object.values(assets).map(({ path }) => path),
    methodNotAllowed('GET, HEAD'),
  );
  router.use((request, response) => {
    discardRest(request);
    say(response, { status: 404, kind: 'unknown_path' });
  });
  router.use(answerFaultsWithPages(surface.log, say));
  return router;
}

interface Status {
  readonly status?: number | undefined;
  /** A fixed word for the log. */
  readonly reason?: string | undefined;
}

function answer(response: Response, { status = 200, reason }: Status, document: string): void {
  if (reason !== undefined) response.reason = reason;
  response.status(status).set(FORM_PAGE_HEADERS).send(document);
}

interface Saying {
  readonly status: number;
  readonly kind: MessageKind;
  /** Where its link leads. */
  readonly to?: string;
  /** A fixed word for the log, if it is not the kind. */
  readonly reason?: string;
}

/** Answers with a page that says one thing. */
export function say(
  response: Response,
  { status, kind, to, reason = kind }: Saying,
  session?: BrowserSession<OperatorPerson>,
): void {
  answer(response, { status, reason }, renderMessage(kind, session, to));
}

function consoleSite(surface: ConsoleSurface): Site<ConsolePages> {
  return {
    origin: surface.origin,
    base: '',
    mount: '',
    cookies: consoleCookies,
    flash: noticeCookie,
    findSession: ({ headers: { cookie = '' }, trace }, renews) =>
      renews ? surface.sessions.find(cookie, trace) : surface.sessions.peek(cookie, trace),
    signInFor: () => '/sign-in',
    admits: (asked, row) => admits(surface, asked, row),
    contextOf: (asked, row) => contextOf(surface, asked, row),
    refuse: (reason, trace) => surface.refuse(reason, trace),
    say(response, message, session) {
      const { kind } = message;
      say(response, { ...message, reason: kind === 'form_refused' ? 'invalid_form_token' : kind }, session);
    },
    answer(shown, screen, { session, request, response }, title) {
      // No form redirects to the answer of a form with a file: a notice is for the next page.
      const done = title === undefined ? noticeCookie.take(request, response) : undefined;
      const notice = done && noticeText(done);
      const { path } = screen;
      const frame = { title: title ?? shown.title ?? screen.title, path, signedIn: session, notice };
      answer(response, shown, renderDocument({ ...frame, scripts: shown.scripts }, shown.body));
    },
    change: (form, asked, field) => change(surface, form, asked, field),
    async answerRefusal(refusal, { page: screen, form, field }, asked) {
      const again = await screenAgain(surface, screen, refusal, { path: form.path, field }, asked);
      const document = again ?? renderRefusal(refusal, screen.back ?? screen.path, asked.session);
      answer(asked.response, refusal, document);
    },
    refuseFile(reason, screen, { session, response }) {
      const refusal = reason === 'body_too_large' ? TOO_LARGE : MALFORMED_FORM;
      answer(response, refusal, renderRefusal(refusal, screen.back ?? screen.path, session));
    },
  };
}

/** Whether the operator has the role for the route, and no setting closes it to every role. */
async function admits(
  surface: ConsoleSurface,
  { session, request, response }: Asked<ConsolePages>,
  { route }: Row<ConsolePages>,
): Promise<boolean> {
  const { holder } = session;
  const { operators } = surface.admin;
  const needed = adminRoutes[route];
  const hasRole = roleFor(holder, needed) !== undefined;
  if (hasRole && !(operators !== undefined && isSwitchedOff(operators, holder, route))) return true;
  await surface.refuseRole(holder, route, request.trace);
  const document = hasRole ? renderMessage('switched_off', session) : renderMissingRole(needed, session);
  answer(response, { status: 403, reason: 'operator_role_missing' }, document);
  return false;
}

function contextOf(
  surface: ConsoleSurface,
  { session, request }: Asked<ConsolePages>,
  { route }: Row<ConsolePages>,
  act?: RequestedAct,
): ScreenContext {
  const { holder, formToken, signsOutEverywhere } = session;
  return {
    holder,
    formToken,
    signsOutEverywhere,
    now: surface.clock.now(),
    may: (role) => roleFor(holder, role) !== undefined,
    admin: actedOnBy(surface.admin, act),
    audit: surface.audit,
    views: surface.views,
    overview: surface.overview,
    examine: () => surface.examine(),
    async lasts() {
      const lasting = await surface.sessions.peek(request.headers.cookie ?? '', request.trace);
      return lasting !== undefined && roleFor(lasting.holder, adminRoutes[route]) !== undefined;
    },
  };
}

/** Makes the change of a form, for which the operator must give a reason. */
async function change(
  surface: ConsoleSurface,
  form: PageForm<ConsolePages>,
  asked: Asked<ConsolePages>,
  field: FormField,
): Promise<ChangeResult> {
  const reason = parseReason(field('reason') ?? '');
  if (reason === undefined) return { ...REASON_REFUSED, kind: 'refused', back: form.back?.(field) };
  const { holder: operator } = asked.session;
  const { route } = form;
  const role = roleFor(operator, adminRoutes[route]);
  if (role === undefined) throw new Error('a form of the console ran without its role');
  const context = contextOf(surface, asked, form, { operator, role, route, reason });
  const done = await form.change(context, field, asked.request.params);
  await context.admin.settle?.();
  return done;
}

/**
 * The screen of a refused form, with what was typed and why it was refused. `undefined` if the refusal names no page, or the
 * operator may not see it.
 */
async function screenAgain(
  surface: ConsoleSurface,
  screen: Screen,
  { back, title, text, errors = [] }: Refusal,
  refused: RefusedForm,
  asked: Asked<ConsolePages>,
): Promise<string | undefined> {
  const { holder } = asked.session;
  if (back === undefined || roleFor(holder, adminRoutes[screen.route]) === undefined) return undefined;
  const request = { originalUrl: back, params: parametersOf(screen.path, back), permit: asked.request.permit };
  const shown = await screen.show({ ...contextOf(surface, asked, screen), refused }, request);
  const body = html`${refusalBanner(title, text, errors)}${shown.body}`;
  const { path } = screen;
  return renderDocument(
    { title: shown.title ?? screen.title, path, signedIn: asked.session, scripts: shown.scripts },
    body,
  );
}

const TOO_LARGE: Refusal = {
  status: 400,
  reason: 'body_too_large',
  title: 'The file is too long',
  text: 'This page takes files of less than 64 KiB. Compare longer ones with mandate agent apply --dry-run.',
};
const MALFORMED_FORM: Refusal = {
  status: 400,
  reason: 'malformed_form',
  title: 'The form could not be read',
  text: 'Nothing was compared. Open the page again.',
};
const REASON_REFUSED: Refusal = {
  status: 400,
  reason: 'reason_required',
  title: 'A reason is needed',
  text: 'Nothing was changed. Say why you make this change, so that others understand it later.',
  errors: [{ field: 'reason', sentence: REASON_SENTENCE }],
};
