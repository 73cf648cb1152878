/**
 * The guards of a page's routes. This folder has what the pages at `/me` and the console share.
 *
 * Without a session a page sends the browser to the sign-in (sign-in.ts): it goes to the identity provider, comes back
 * with a code, and gets the cookies of a session (sign-in-cookies.ts). A page then renders escaped HTML (html.ts) into
 * a document (document.ts).
 *
 * A form needs a session, the origin of the page and the form token of the session (own-form.ts). It ends with a
 * redirect to a page, and a one-time message for it (flash.ts). Each refusal is recorded before its answer leaves.
 */

import type { Request, Response } from 'express';
import type { Trace } from '../../../domain/trace-context.ts';
import { GONE, readFormRequest } from '../oauth/form.ts';
import { isOwnForm } from './own-form.ts';
import { redirect } from './page-headers.ts';
import type { BrowserSession } from './session.ts';
import type { SignInCookies } from './sign-in-cookies.ts';

/** How one set of pages finds its sessions, and how it refuses. */
export interface Guard<Holder> {
  /** An address of the pages. */
  readonly origin: string;
  readonly cookies: Pick<SignInCookies<string>, 'hasSeveralSessions'>;
  /** The address of the sign-in. */
  readonly signIn: string;
  find(request: Request): Promise<BrowserSession<Holder> | undefined>;
  /** Records the refusal. The record names no person. */
  refuse(reason: 'missing_token' | 'invalid_form_token', trace?: Trace): Promise<void>;
  /** Answers with a page that says one thing. @param session of a browser that has one */
  say(response: Response, notice: GuardNotice, session?: BrowserSession<Holder>): void;
}

type GuardNotice =
  | { readonly status: 400; readonly kind: 'several_sessions' }
  | { readonly status: 401; readonly kind: 'session_over' }
  | { readonly status: 403; readonly kind: 'form_refused' };

/** A field of the form. `undefined` if the form cannot be read, or does not have it. */
export type FormField = (name: string) => string | undefined;

/** The session of a request for a page. `undefined`: answered. */
export async function sessionOfPage<Holder>(
  guard: Guard<Holder>,
  request: Request,
  response: Response,
): Promise<BrowserSession<Holder> | undefined> {
  const session = await guard.find(request);
  if (session !== undefined) return session;
  // A new sign-in would only add one more cookie.
  if (guard.cookies.hasSeveralSessions(request.headers.cookie)) await refuseSession(guard, request, response);
  else redirect(response, guard.signIn);
  return undefined;
}

/** The session and the fields of a form. `undefined`: answered, or the client has left. */
export async function sessionOfForm<Holder>(
  guard: Guard<Holder>,
  request: Request,
  response: Response,
): Promise<{ readonly session: BrowserSession<Holder>; readonly field: FormField } | undefined> {
  const form = await readFormRequest(request);
  if (form === GONE) return undefined;
  const session = await guard.find(request);
  const field: FormField = (name) => (form.kind === 'allowed' ? form.value.get(name) : undefined);
  if (session === undefined) await refuseSession(guard, request, response);
  else if (await isFromPage(guard, session, field('form_token'), request, response)) return { session, field };
  return undefined;
}

/** Whether a write comes from a page of the session. Otherwise it is refused here. */
export async function isFromPage<Holder>(
  guard: Guard<Holder>,
  session: BrowserSession<Holder>,
  given: string | undefined,
  request: Request,
  response: Response,
): Promise<boolean> {
  if (isOwnForm(request, guard.origin, { given, expected: session.formToken })) return true;
  await guard.refuse('invalid_form_token', request.trace);
  guard.say(response, { status: 403, kind: 'form_refused' }, session);
  return false;
}

/** Refuses a write without a session, or a request with several. */
export async function refuseSession<Holder>(guard: Guard<Holder>, request: Request, response: Response): Promise<void> {
  await guard.refuse('missing_token', request.trace);
  const hasSeveral = guard.cookies.hasSeveralSessions(request.headers.cookie);
  guard.say(response, hasSeveral ? { status: 400, kind: 'several_sessions' } : { status: 401, kind: 'session_over' });
}
