/**
 * Routes of the sign-in, relative to `/me`: it begins here, the identity provider sends the browser back, and the person
 * signs out. Every answer is for a browser.
 */

import express, { type Request, type Response, type Router } from 'express';
import type { SignIn, SignInDenial } from '../../../application/ports/identity-provider.ts';
import type { Randomness } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { SignedInPerson } from '../../../domain/sponsors/session.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { DATABASE_RETRY_AFTER } from '../message/faults.ts';
import { neverStored, queryParameters, singleHeader } from '../message/head.ts';
import { methodNotAllowed } from '../message/problem-details.ts';
import { GONE, readFormRequest } from '../oauth/form.ts';
import { redirect, wantsPage } from '../pages/page-headers.ts';
import { issuerPath } from '../routes.ts';
import { forRequest, type Traceable } from '../traceable.ts';
import { attemptOf, begunSignIn, isPlace, type Place, pathOfPlace, sessionSecret, setCookie } from './cookies.ts';
import { type MeSessions, mayWrite } from './identify.ts';
import { answerFaultsWithPages, answerNotice, type Notice } from './page/notice.ts';

export interface SignInSurface {
  readonly issuer: string;
  readonly provider: SignIn;
  readonly randomness: Pick<Randomness, 'secret'>;
  readonly sessions: MeSessions;
  /**
   * Opens a session, and closes the browser's earlier one. Resolves with the secret, or with `undefined` if the provider
   * has ended the sign-in meanwhile.
   */
  open(
    signedIn: { readonly person: SignedInPerson; readonly issuedAt: Instant | undefined },
    earlier: string | undefined,
  ): Promise<string | undefined>;
  close(secret: string): Promise<void>;
  /** Writes the record of a write that does not come from the service's own page. */
  refuse(reason: 'invalid_form_token', trace?: Trace): Promise<void>;
  readonly log: Log;
}

const SIGN_IN_SECRET_BYTES = 32;

const NOTICES: Readonly<Record<SignInDenial, Pick<Notice, 'status' | 'kind'>>> = {
  provider_unavailable: { status: 503, kind: 'provider_unavailable' },
  sign_in_cancelled: { status: 400, kind: 'sign_in_incomplete' },
  sign_in_refused: { status: 400, kind: 'sign_in_refused' },
  sign_in_too_old: { status: 403, kind: 'sign_in_too_old' },
};

export function signInRouter(surface: Traceable<SignInSurface>): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const base = issuerPath(surface.issuer);
  const paths = ['/sign-in', '/callback', '/sign-out'];
  router.all(paths, neverStored, (_request, response, next) => {
    // The address of the callback holds the code.
    response.set({ 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' });
    next();
  });
  router.get('/sign-in', async (request, response) => {
    const place = placeOf(request);
    if (place === undefined) return again(response, base, { status: 400, kind: 'sign_in_incomplete' });
    const begun = { place, secret: surface.randomness.secret(SIGN_IN_SECRET_BYTES) };
    const address = await surface.provider.begin(attemptOf(begun), request.trace);
    if (address === undefined) return again(response, base, NOTICES.provider_unavailable, place);
    redirect(response.append('Set-Cookie', setCookie.signIn(begun)), address);
  });
  router.get('/callback', (request, response) => finish(forRequest(surface, request), request, response, base));
  router.post('/sign-out', (request, response) => signOut(forRequest(surface, request), request, response, base));
  // After a sign-out its address stays in the browser.
  router.get('/sign-out', (request, response, next) =>
    wantsPage(request) ? redirect(response, `${base}/me`) : next(),
  );
  router.all(['/sign-in', '/callback'], methodNotAllowed('GET, HEAD'));
  router.all('/sign-out', methodNotAllowed('POST'));
  router.use(answerFaultsWithPages(surface.log, base));
  return router;
}

/** The place that the only parameter `to` names; without it, the page. */
function placeOf({ url }: Request): Place | undefined {
  const parameters = queryParameters(url);
  if (parameters.length === 0) return 'me';
  const [{ name, value = '' } = {}] = parameters;
  return parameters.length === 1 && name === 'to' && isPlace(value) ? value : undefined;
}

async function finish(surface: SignInSurface, request: Request, response: Response, base: string): Promise<void> {
  const { cookie = '' } = request.headers;
  const begun = begunSignIn(cookie);
  if (begun === undefined) {
    // The back button, or a second copy of the address: the sign-in has ended.
    if ((await surface.sessions.find(cookie, request.trace)) !== undefined) return redirect(response, `${base}/me`);
    return again(response, base, { status: 400, kind: 'sign_in_incomplete' });
  }
  const query = request.url.slice(request.path.length);
  const outcome = await surface.provider.finish(attemptOf(begun), query, request.trace);
  if (outcome.kind === 'refused') return again(response, base, NOTICES[outcome.reason], begun.place);
  const secret = await surface.open(outcome, sessionSecret(cookie));
  if (secret === undefined) return again(response, base, NOTICES.sign_in_refused, begun.place);
  response.append('Set-Cookie', [setCookie.session(secret), setCookie.noSignIn]);
  redirect(response, `${base}${pathOfPlace(begun.place)}`);
}

function again(response: Response, base: string, notice: Pick<Notice, 'status' | 'kind'>, place: Place = 'me'): void {
  if (notice.status === 503) response.set('Retry-After', String(DATABASE_RETRY_AFTER));
  const to = `/me/sign-in${place === 'me' ? '' : `?to=${place}`}`;
  answerNotice(response, { ...notice, base, to });
}

/** Ends the session here, then sends the browser to the provider, whose own session would sign the next person in. */
async function signOut(surface: SignInSurface, request: Request, response: Response, base: string): Promise<void> {
  const form = await readFormRequest(request);
  if (form === GONE) return;
  const { cookie = '' } = request.headers;
  const [session, secret] = [await surface.sessions.find(cookie, request.trace), sessionSecret(cookie)];
  const header = singleHeader(request, 'mandate-form-token');
  const field = form.kind === 'allowed' ? form.value.get('form_token') : undefined;
  const given = field ?? (header.kind === 'present' ? header.value : undefined);
  if (!mayWrite(surface, session, request, given)) {
    await surface.refuse('invalid_form_token', request.trace);
    return answerNotice(response, { status: 403, kind: 'form_refused', base });
  }
  if (secret !== undefined) await surface.close(secret);
  response.append('Set-Cookie', setCookie.noSession);
  const address = session === undefined ? undefined : await surface.provider.signOutAddress(request.trace);
  // A redirect after a form would need the provider in the page's `form-action`, with all hosts that it redirects to.
  if (address !== undefined) response.set('Refresh', `0; url=${address}`);
  answerNotice(response, { status: 200, kind: 'signed_out', base, to: '/me/sign-in' });
}
