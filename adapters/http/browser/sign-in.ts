/**
 * Routes of a sign-in with code and PKCE: it begins here, the identity provider sends the browser back, and the person
 * signs out. Every answer is for a browser.
 */

import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { SignIn, SignInOutcome } from '../../../application/ports/identity-provider.ts';
import type { Randomness } from '../../../application/ports/runtime.ts';
import type { SignInDemand } from '../../../domain/denial.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { SignInDenial } from '../../../domain/sign-in-denial.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { DATABASE_RETRY_AFTER } from '../message/faults.ts';
import { neverStored, queryParameters, singleHeader } from '../message/head.ts';
import { methodNotAllowed } from '../message/problem-details.ts';
import { GONE, readFormRequest } from '../oauth/form.ts';
import { formTokenOf } from './cookies.ts';
import { isOwnForm } from './own-form.ts';
import { redirect, wantsPage } from './page-headers.ts';
import type { SignInCookies } from './sign-in-cookies.ts';

export interface SignInSurface<Refusal extends string = never> {
  /** An address of the pages. */
  readonly origin: string;
  readonly provider: SignIn;
  readonly randomness: Pick<Randomness, 'secret'>;
  findSession(
    cookies: string,
    trace?: Trace,
  ): Promise<{ readonly formToken: string; readonly idToken?: Secret | undefined } | undefined>;
  /**
   * Opens a session, and closes the browser's earlier one. Refuses with `sign_in_ended` if the provider has ended the
   * sign-in meanwhile.
   */
  open(
    signedIn: Extract<SignInOutcome, { readonly kind: 'signed_in' }>,
    earlier: string | undefined,
    trace?: Trace,
  ): Promise<OpenedSession<Refusal>>;
  close(secret: string): Promise<void>;
  /**
   * Writes the record of a write that does not come from the service's own page, or with several sessions; or of a sign-in
   * for which the provider demands a proof of a key.
   */
  refuse(reason: 'invalid_form_token' | 'missing_token' | SignInDemand, trace?: Trace): Promise<void>;
}

type OpenedSession<Refusal extends string> =
  | { readonly kind: 'opened'; readonly secret: string }
  | { readonly kind: 'refused'; readonly reason: Refusal | 'sign_in_ended' };

/**
 * The kinds of pages. `sign_in_incomplete`: this browser has begun no sign-in, or its time is over. `signing_out`: the
 * session here has ended, and the provider ends its own. `signed_out_everywhere`: the provider has sent the browser
 * back.
 */
export type SignInMessage<Refusal extends string> =
  | ('signed_out' | 'signing_out' | 'signed_out_everywhere')
  | ('form_refused' | 'several_sessions')
  | ('sign_in_incomplete' | 'sign_in_ended')
  | SignInDenial
  | Refusal;

/** The pages that a sign-in belongs to. */
interface SignInPages<Place extends string, Refusal extends string> {
  readonly cookies: SignInCookies<Place>;
  /** Where the browser goes after a sign-in that names no place. */
  readonly home: Place;
  /** The prefix of every path in an address of this service. */
  readonly base: string;
  /** The path of these routes, after `base`. */
  readonly mount: string;
  /**
   * Answers with a page that says one thing. The page `signing_out` opens its link without a click.
   *
   * @param to where its link leads: a path after `base`
   * @param place where the browser would have gone after the sign-in
   */
  say(
    response: Response,
    message: { readonly status: number; readonly kind: SignInMessage<Refusal>; readonly to?: string },
    place?: Place,
  ): void;
  /** Adds a message to the answer that leads to the place. The browser has the new session. */
  readonly greet?: (response: Response, place: Place) => void;
  readonly faults: ErrorRequestHandler;
}

const SIGN_IN_SECRET_BYTES = 32;

/** 503: the fault is the provider's, or in what it knows of this service. Nothing that the person does helps. */
const STATUSES: Readonly<Record<SignInDenial, 400 | 403 | 503>> = {
  provider_unavailable: 503,
  provider_unreadable: 503,
  client_refused: 503,
  sign_in_dpop_demanded: 503,
  sign_in_cancelled: 400,
  login_required: 400,
  sign_in_superseded: 400,
  sign_in_code_refused: 400,
  sign_in_answer_refused: 400,
  id_token_refused: 400,
  account_refused: 403,
  sign_in_undated: 403,
  sign_in_too_old: 403,
};

/** Another window of the browser may have completed its sign-in. */
const MAYBE_COMPLETE: readonly SignInDenial[] = ['sign_in_superseded', 'sign_in_code_refused'];

export function signInRouter<Place extends string, Refusal extends string>(
  surface: SignInSurface<Refusal>,
  pages: SignInPages<Place, Refusal>,
): Router {
  const { cookies, home, base } = pages;
  const router = express.Router({ caseSensitive: true, strict: true });
  const paths = ['/sign-in', '/callback', '/sign-out', '/signed-out'];
  router.all(paths, neverStored, (_request, response, next) => {
    // The address of the callback holds the code.
    response.set({ 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' });
    next();
  });
  router.get('/sign-in', async (request, response) => {
    const place = placeOf(pages, request);
    if (place === undefined) return again(response, pages, { status: 400, kind: 'sign_in_incomplete' });
    const begun = { place, secret: surface.randomness.secret(SIGN_IN_SECRET_BYTES) };
    const beginning = await surface.provider.begin(cookies.attemptOf(begun), request.trace);
    if (beginning.kind === 'refused') {
      await recordIfDemanded(surface, beginning.reason, request.trace);
      return again(response, pages, noticeOf(beginning.reason), place);
    }
    redirect(response.append('Set-Cookie', cookies.set.signIn(begun)), beginning.address);
  });
  router.get('/callback', (request, response) => finish(surface, request, response, pages));
  router.post('/sign-out', (request, response) => signOut(surface, request, response, pages));
  // The provider sends the browser here after its own sign-out. Parameters of the address say nothing.
  router.get('/signed-out', async (request, response) => {
    const session = await surface.findSession(request.headers.cookie ?? '', request.trace);
    if (session !== undefined) return redirect(response, `${base}${cookies.places.of(home).path}`);
    pages.say(response, { status: 200, kind: 'signed_out_everywhere', to: `${pages.mount}/sign-in` });
  });
  // After a sign-out its address stays in the browser.
  router.get('/sign-out', (request, response, next) =>
    wantsPage(request) ? redirect(response, `${base}${cookies.places.of(home).path}`) : next(),
  );
  router.all(['/sign-in', '/callback', '/signed-out'], methodNotAllowed('GET, HEAD'));
  router.all('/sign-out', methodNotAllowed('POST'));
  router.use(pages.faults);
  return router;
}

/** The place that the only parameter `to` names; without it, the home page. */
function placeOf<Place extends string>(
  { cookies, home }: Pick<SignInPages<Place, never>, 'cookies' | 'home'>,
  { url }: Request,
): Place | undefined {
  const parameters = queryParameters(url);
  if (parameters.length === 0) return home;
  const [{ name, value = '' } = {}] = parameters;
  return parameters.length === 1 && name === 'to' && cookies.places.has(value) ? value : undefined;
}

async function finish<Place extends string, Refusal extends string>(
  surface: SignInSurface<Refusal>,
  request: Request,
  response: Response,
  pages: SignInPages<Place, Refusal>,
): Promise<void> {
  const { cookies, home, base, greet } = pages;
  const { cookie = '' } = request.headers;
  const begun = cookies.begunSignIn(cookie);
  const leadsHome = async () => {
    const isSignedIn = (await surface.findSession(cookie, request.trace)) !== undefined;
    if (isSignedIn) redirect(response, `${base}${cookies.places.of(home).path}`);
    return isSignedIn;
  };
  if (begun === undefined) {
    // The back button, or a second copy of the address: the sign-in has ended.
    if (await leadsHome()) return;
    return again(response, pages, { status: 400, kind: 'sign_in_incomplete' });
  }
  const query = request.url.slice(request.path.length);
  const outcome = await surface.provider.finish(cookies.attemptOf(begun), query, request.trace);
  if (outcome.kind === 'refused') {
    const { reason } = outcome;
    await recordIfDemanded(surface, reason, request.trace);
    if (begun.place === home && MAYBE_COMPLETE.includes(reason) && (await leadsHome())) return;
    return again(response, pages, noticeOf(reason), begun.place);
  }
  const opened = await surface.open(outcome, cookies.sessionSecret(cookie), request.trace);
  if (opened.kind === 'refused') {
    const status = opened.reason === 'sign_in_ended' ? 400 : 403;
    return again(response, pages, { status, kind: opened.reason }, begun.place);
  }
  response.append('Set-Cookie', [cookies.set.session(opened.secret), cookies.set.noSignIn]);
  greet?.(response, begun.place);
  redirect(response, `${base}${cookies.places.of(begun.place).path}`);
}

/** `mandate doctor` repeats what no metadata says: without the record, it would find nothing wrong. */
async function recordIfDemanded(
  surface: Pick<SignInSurface<string>, 'refuse'>,
  reason: SignInDenial,
  trace: Trace | undefined,
): Promise<void> {
  if (reason === 'sign_in_dpop_demanded') await surface.refuse(reason, trace);
}

function noticeOf(kind: SignInDenial): { readonly status: number; readonly kind: SignInDenial } {
  return { status: STATUSES[kind], kind };
}

function again<Place extends string, Refusal extends string>(
  response: Response,
  { home, mount, say }: SignInPages<Place, Refusal>,
  message: { readonly status: number; readonly kind: SignInMessage<Refusal> },
  place: Place = home,
): void {
  if (message.status === 503) response.set('Retry-After', String(DATABASE_RETRY_AFTER));
  say(response, { ...message, to: `${mount}/sign-in${place === home ? '' : `?to=${place}`}` }, place);
}

/**
 * Ends the session here. With the field `everywhere` the browser then goes to the provider, which ends its own session, and
 * with it perhaps sessions of other applications and tasks.
 */
async function signOut<Place extends string, Refusal extends string>(
  surface: SignInSurface<Refusal>,
  request: Request,
  response: Response,
  { cookies, mount, say }: SignInPages<Place, Refusal>,
): Promise<void> {
  const form = await readFormRequest(request);
  if (form === GONE) return;
  const { cookie = '' } = request.headers;
  // Which of them is the person's is not known, so none can be closed.
  if (cookies.hasSeveralSessions(cookie)) {
    await surface.refuse('missing_token', request.trace);
    return say(response, { status: 400, kind: 'several_sessions' });
  }
  const [session, secret] = [await surface.findSession(cookie, request.trace), cookies.sessionSecret(cookie)];
  const header = singleHeader(request, 'mandate-form-token');
  const field = form.kind === 'allowed' ? form.value.get('form_token') : undefined;
  const given = field ?? (header.kind === 'present' ? header.value : undefined);
  const isOwn = secret !== undefined && isOwnForm(request, surface.origin, { given, expected: formTokenOf(secret) });
  if (session !== undefined && !isOwn) {
    await surface.refuse('invalid_form_token', request.trace);
    return say(response, { status: 403, kind: 'form_refused' });
  }
  // A session that is over here may be open at a replica whose clock is right.
  if (isOwn) await surface.close(secret);
  // A form of another site comes without the cookie (`SameSite`), and must not remove it.
  if (cookies.hasSession(cookie)) response.append('Set-Cookie', cookies.set.noSession);
  const isEverywhere = form.kind === 'allowed' && form.value.get('everywhere') === 'yes';
  const address =
    isOwn && isEverywhere ? await surface.provider.signOutAddress(session?.idToken, request.trace) : undefined;
  if (address === undefined) return say(response, { status: 200, kind: 'signed_out', to: `${mount}/sign-in` });
  // The page opens the address. A redirect after a form would need the provider in the page's `form-action`, with all hosts
  // that it redirects to, and the ID token in a header, which proxies log.
  say(response, { status: 200, kind: 'signing_out', to: address });
}
