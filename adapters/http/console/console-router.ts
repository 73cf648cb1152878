/** Routes of the console. Each needs a session, and the role of its screen or form. */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
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
import {
  type FormField,
  type Guard,
  isFromPage,
  refuseSession,
  sessionOfForm,
  sessionOfPage,
} from '../browser/guards.ts';
import { html } from '../browser/html.ts';
import { mayBeOwnScript } from '../browser/own-form.ts';
import { FORM_PAGE_HEADERS, redirect } from '../browser/page-headers.ts';
import type { BrowserSession, BrowserSessions } from '../browser/session.ts';
import { discardRest, readTypedBody } from '../message/body.ts';
import { neverStored } from '../message/head.ts';
import { answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import { assets } from './assets.ts';
import type {
  AnswerScript,
  ChangeByForm,
  FormResult,
  OverviewSurface,
  Screen,
  ScreenContext,
  ScreenFileForm,
  ScreenForm,
  ViewsSurface,
} from './context.ts';
import { consoleCookies } from './cookies.ts';
import { renderDocument } from './layout.ts';
import { type MessageKind, refusalBanner, renderMessage, renderMissingRole, renderRefusal } from './messages.ts';
import { MULTIPART, readMultipart } from './multipart.ts';
import { noticeCookie, noticeText } from './notices.ts';
import { feeds, fileForms, forms, type OfScreen, type ScreenName, screens } from './screens.ts';

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

export function consoleRouter(surface: ConsoleSurface, shown: Readonly<Record<ScreenName, Screen>> = screens): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  serveAssets(router, '', Object.values(assets));
  router.use(neverStored);
  for (const [name, screen] of Object.entries(shown))
    router.get(screen.path, showScreen(surface, name as ScreenName, screen));
  for (const { path, route, renews, answer } of Object.values(feeds)) {
    router.get(path, withRole(surface, route, answer, { renews, isOnlyForScripts: true }));
  }
  for (const form of Object.values(forms)) router.post(form.path, change(surface, form));
  for (const form of Object.values(fileForms)) router.post(form.path, readFile(surface, form));
  const posted = [...Object.values(forms), ...Object.values(fileForms)];
  for (const { path, screen } of posted) {
    // After a refused form its address stays in the browser.
    router.get(path, (_request, response) => redirect(response, backTo(screen)));
  }
  // As in the API, another method is refused without a record, whatever the role.
  router.all(pathsOf(Object.values({ ...screens, ...assets }), Object.values(feeds)), methodNotAllowed('GET, HEAD'));
  router.all(pathsOf(posted), methodNotAllowed('GET, HEAD, POST'));
  router.use((request, response) => {
    discardRest(request);
    say(response, { status: 404, kind: 'unknown_path' });
  });
  router.use(answerFaultsWithPages(surface.log, say));
  return router;
}

function pathsOf(...rows: readonly (readonly { readonly path: string }[])[]): string[] {
  return rows.flat().map(({ path }) => path);
}

/** Where a form of the screen leads back to. */
function backTo(name: ScreenName): string {
  const { back, path }: Screen = screens[name];
  return back ?? path;
}

interface Status {
  readonly status?: number | undefined;
  /** A fixed word for the log. */
  readonly reason?: string | undefined;
}

export function answer(response: Response, { status = 200, reason }: Status, document: string): void {
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

function guardOf(surface: ConsoleSurface): Guard<OperatorPerson> {
  return {
    origin: surface.origin,
    cookies: consoleCookies,
    signIn: '/sign-in',
    find: (request) => surface.sessions.find(request.headers.cookie ?? '', request.trace),
    refuse: (reason, trace) => surface.refuse(reason, trace),
    say(response, notice, session) {
      const { kind } = notice;
      say(response, { ...notice, reason: kind === 'form_refused' ? 'invalid_form_token' : kind }, session);
    },
  };
}

/** A page that needs a session and a role. Without a session the browser goes to the sign-in. */
function showScreen(surface: ConsoleSurface, name: ScreenName, { title, route, show }: Screen): RequestHandler {
  return withRole(surface, route, async (context, request, response) => {
    const page = await show(context, request);
    const done = noticeCookie.take(request, response);
    const notice = done && noticeText(done);
    const frame = { title: page.title ?? title, screen: name, signedIn: context, notice, scripts: page.scripts };
    answer(response, page, renderDocument(frame, page.body));
  });
}

/**
 * A route that only reads.
 *
 * @param options.renews whether a request prolongs the session
 * @param options.isOnlyForScripts whether only scripts of the console read it: another host of the site could otherwise let
 * an operator's browser occupy all connections of the stream
 */
function withRole(
  surface: ConsoleSurface,
  route: AdminRoute,
  handle: AnswerScript,
  { renews = true, isOnlyForScripts = false }: { readonly renews?: boolean; readonly isOnlyForScripts?: boolean } = {},
): RequestHandler {
  const guard = guardOf(surface);
  const found = renews ? guard : { ...guard, find: (request: Request) => peek(surface, request) };
  return async (request, response) => {
    const session = await sessionOfPage(found, request, response);
    if (session === undefined) return;
    if (isOnlyForScripts && !mayBeOwnScript(surface.origin, request)) {
      await surface.refuse('invalid_form_token', request.trace);
      const detail = 'Only the pages of this console may read this.';
      return answerProblem(response, { status: 403, detail, reason: 'invalid_form_token' });
    }
    if (roleFor(session.holder, adminRoutes[route]) === undefined) {
      return refuseRole(surface, session, route, request, response);
    }
    await handle(contextOf(surface, session, route, request), request, response);
  };
}

function peek(
  { sessions }: ConsoleSurface,
  { headers: { cookie = '' }, trace }: Request,
): Promise<BrowserSession<OperatorPerson> | undefined> {
  return sessions.peek(cookie, trace);
}

function contextOf(
  surface: ConsoleSurface,
  { holder, formToken, signsOutEverywhere }: BrowserSession<OperatorPerson>,
  route: AdminRoute,
  request: Request,
  act?: RequestedAct,
): ScreenContext {
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
      const session = await peek(surface, request);
      return session !== undefined && roleFor(session.holder, adminRoutes[route]) !== undefined;
    },
  };
}

/**
 * The screen of a refused form, with what was typed and why it was refused. `undefined` if the refusal names no page, or the
 * operator may not see it.
 */
async function screenAgain(
  context: ScreenContext,
  { path, screen: name }: OfScreen<ScreenForm>,
  { back, title, text, errors = [], ...status }: Refusal,
  { field, permit }: { readonly field: FormField; readonly permit: Request['permit'] },
): Promise<readonly [Status, string] | undefined> {
  const screen: Screen = screens[name];
  if (back === undefined || roleFor(context.holder, adminRoutes[screen.route]) === undefined) return undefined;
  const request = { originalUrl: back, params: parametersOf(screen.path, back), permit };
  const page = await screen.show({ ...context, refused: { path, field } }, request);
  const body = html`${refusalBanner(title, text, errors)}${page.body}`;
  const frame = { title: page.title ?? screen.title, screen: name, signedIn: context, scripts: page.scripts };
  return [status, renderDocument(frame, body)];
}

/** The parameters of an address by the path of its screen. */
function parametersOf(pattern: string, address: string): Readonly<Record<string, string>> {
  const { pathname } = new URL(address, 'http://console.invalid');
  const segments = pathname.split('/');
  return Object.fromEntries(
    pattern
      .split('/')
      .flatMap((part, nth) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(segments[nth] ?? '')]] : [])),
  );
}

function isOff(
  { admin: { operators } }: ConsoleSurface,
  { holder }: BrowserSession<OperatorPerson>,
  route: AdminRoute,
) {
  return operators !== undefined && isSwitchedOff(operators, holder, route);
}

/** The operator lacks the role for the route, or a setting closes it to every role. */
async function refuseRole(
  surface: ConsoleSurface,
  session: BrowserSession<OperatorPerson>,
  route: AdminRoute,
  request: Request,
  response: Response,
): Promise<void> {
  await surface.refuseRole(session.holder, route, request.trace);
  const needed = adminRoutes[route];
  const document =
    roleFor(session.holder, needed) === undefined
      ? renderMissingRole(needed, session)
      : renderMessage('switched_off', session);
  answer(response, { status: 403, reason: 'operator_role_missing' }, document);
}

/** A form, after which the browser opens a page. The change and the record of who asked for it are durable before. */
function change(surface: ConsoleSurface, form: OfScreen<ScreenForm>): RequestHandler {
  const { route } = form;
  const guard = guardOf(surface);
  const role = adminRoutes[route];
  return async (request, response) => {
    const sent = await sessionOfForm(guard, request, response);
    if (sent === undefined) return;
    const { session, field } = sent;
    const held = roleFor(session.holder, role);
    if (held === undefined || isOff(surface, session, route)) {
      return refuseRole(surface, session, route, request, response);
    }
    const reason = parseReason(field('reason') ?? '');
    const done =
      reason === undefined
        ? { ...REASON_REFUSED, back: form.back?.(field) }
        : await acted(
            contextOf(surface, session, route, request, { operator: session.holder, role: held, route, reason }),
            field,
            form.change,
          );
    if (done.kind === 'refused') {
      const context = contextOf(surface, session, route, request);
      const again = await screenAgain(context, form, done, { field, permit: request.permit });
      const [status, document] = again ?? [done, renderRefusal(done, backTo(form.screen), session)];
      return answer(response, status, document);
    }
    if (done.notice !== undefined) noticeCookie.give(response, done.notice);
    redirect(response, done.to, 303);
  };
}

type Refusal = Extract<FormResult, { readonly kind: 'refused' }>;

const TOO_LARGE: Refusal = {
  kind: 'refused',
  status: 400,
  reason: 'body_too_large',
  title: 'The file is too long',
  text: 'This page takes files of less than 64 KiB. Compare longer ones with mandate agent apply --dry-run.',
};
const MALFORMED_FORM: Refusal = {
  kind: 'refused',
  status: 400,
  reason: 'malformed_form',
  title: 'The form could not be read',
  text: 'Nothing was compared. Open the page again.',
};

/** A form with a file, which only reads. The answer is a page, and no address leads to it again. */
function readFile(surface: ConsoleSurface, { route, screen, title, read }: OfScreen<ScreenFileForm>): RequestHandler {
  const guard = guardOf(surface);
  return async (request, response) => {
    // First: the request already has a permit, which a slow sender without a session must not keep.
    const session = await guard.find(request);
    if (session === undefined) {
      discardRest(request);
      return refuseSession(guard, request, response);
    }
    const body = await readTypedBody(request, [MULTIPART], MALFORMED_FORM.text);
    if (body.kind === 'aborted') return;
    // Its token could not be read, and it does nothing.
    const refuse = (done: typeof TOO_LARGE) => answer(response, done, renderRefusal(done, backTo(screen), session));
    if (body.kind === 'refused') return refuse(body.reason === 'body_too_large' ? TOO_LARGE : MALFORMED_FORM);
    const parts = await readMultipart(request, body.bytes);
    const given = parts?.get('form_token')?.bytes.toString('utf8');
    if (!(await isFromPage(guard, session, given, request, response))) return;
    if (roleFor(session.holder, adminRoutes[route]) === undefined) {
      return refuseRole(surface, session, route, request, response);
    }
    const file = parts?.get('file')?.bytes;
    if (file === undefined) return refuse(MALFORMED_FORM);
    const context = contextOf(surface, session, route, request);
    const page = await read(context, file);
    answer(response, page, renderDocument({ title, screen, signedIn: context, scripts: page.scripts }, page.body));
  };
}

async function acted(context: ScreenContext, field: FormField, change: ChangeByForm): Promise<FormResult> {
  const done = await change(context, field);
  await context.admin.settle?.();
  return done;
}

const REASON_REFUSED: Refusal = {
  kind: 'refused',
  status: 400,
  reason: 'reason_required',
  title: 'A reason is needed',
  text: 'Nothing was changed. Say why you make this change, so that others understand it later.',
  errors: [{ field: 'reason', sentence: REASON_SENTENCE }],
};
