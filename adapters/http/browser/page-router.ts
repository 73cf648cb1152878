/**
 * The router of all pages. The pages are values (pages.ts), and what differs between the two sets of pages is a `Site`.
 *
 * | a request for | is checked in this order |
 * | --- | --- |
 * | a page | session, role |
 * | a feed | session, a script of our own pages, role |
 * | a form | body, session, origin and form token, role, and a reason at the console |
 * | a form with a file | session, body, origin and form token, role |
 *
 * Without a session a page sends the browser to the sign-in (sign-in.ts): it goes to the identity provider, comes back
 * with a code, and gets the cookies of a session (sign-in-cookies.ts). A form ends with a redirect to a page, and a
 * one-time message for it (flash.ts). Each refusal is recorded before its answer leaves. Nothing is read for a page before
 * its checks, so a refusal says nothing of what is stored.
 */

import type { RequestHandler, Router } from 'express';
import { discardRest, readTypedBody } from '../message/body.ts';
import { answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import { GONE, readFormRequest } from '../oauth/form.ts';
import { MULTIPART, readMultipart } from './multipart.ts';
import { isOwnForm, mayBeOwnScript } from './own-form.ts';
import { redirect } from './page-headers.ts';
import type { Asked, Feed, FileForm, FormField, Page, PageForm, PageKind, Row, Site } from './pages.ts';
import { fillPath } from './paths.ts';

/** Adds the routes of the pages, with their forms and feeds. */
export function servePages<Kind extends PageKind>(
  router: Router,
  site: Site<Kind>,
  pages: readonly Page<Kind>[],
): void {
  const pathOf = ({ path }: Row<Kind>) => path.slice(site.mount.length) || '/';
  const read = (row: Row<Kind>, handle: RequestHandler) => {
    router.get(pathOf(row), handle);
    if (site.takes === undefined) router.all(pathOf(row), methodNotAllowed('GET, HEAD'));
  };
  const post = (row: Row<Kind>, handle: RequestHandler, page: Page<Kind>) => {
    router.post(pathOf(row), handle);
    router.get(pathOf(row), leadBack(site, page));
    if (site.takes === undefined) router.all(pathOf(row), methodNotAllowed('GET, HEAD, POST'));
  };
  for (const page of pages) {
    read(page, showPage(site, page));
    for (const feed of Object.values(page.feeds ?? {})) read(feed, answerFeed(site, feed));
    for (const form of Object.values(page.forms ?? {})) post(form, takeForm(site, page, form), page);
    for (const form of Object.values(page.fileForms ?? {})) post(form, takeFile(site, page, form), page);
  }
}

function showPage<Kind extends PageKind>(site: Site<Kind>, page: Page<Kind>): RequestHandler {
  return async (request, response, next) => {
    if (site.takes?.(request, page) === false) return next();
    const session = await site.findSession(request, true);
    if (session === undefined) return signIn(site, { request, response }, page);
    const asked = { session, request, response };
    if (!(await site.admits(asked, page))) return;
    site.answer(await page.show(site.contextOf(asked, page), request), page, asked);
  };
}

function answerFeed<Kind extends PageKind>(site: Site<Kind>, feed: Feed<Kind>): RequestHandler {
  return async (request, response) => {
    const session = await site.findSession(request, feed.renews);
    if (session === undefined) return signIn(site, { request, response });
    const asked = { session, request, response };
    // Another host of the site could otherwise let a browser occupy all connections of a stream.
    if (!mayBeOwnScript(site.origin, request)) {
      await site.refuse('invalid_form_token', request.trace);
      const detail = 'Only the pages of this console may read this.';
      return answerProblem(response, { status: 403, detail, reason: 'invalid_form_token' });
    }
    if (!(await site.admits(asked, feed))) return;
    await feed.answer(site.contextOf(asked, feed), request, response);
  };
}

/** Takes a form, and then opens a page. The change and the record of who asked for it are durable before. */
function takeForm<Kind extends PageKind>(site: Site<Kind>, page: Page<Kind>, form: PageForm<Kind>): RequestHandler {
  return async (request, response, next) => {
    if (site.takes?.(request) === false) return next();
    const body = await readFormRequest(request);
    if (body === GONE) return;
    const field: FormField = (name) => (body.kind === 'allowed' ? body.value.get(name) : undefined);
    const session = await site.findSession(request, true);
    if (session === undefined) return refuseSession(site, { request, response });
    const asked = { session, request, response };
    if (!(await isFromPage(site, asked, field('form_token')))) return;
    if (!(await site.admits(asked, form))) return;
    const done = await site.change(form, asked, field);
    if (done.kind === 'refused') return site.answerRefusal(done, { page, form, field }, asked);
    if (done.notice !== undefined) site.flash.give(response, done.notice);
    redirect(response, `${site.base}${done.to}`, 303);
  };
}

/** Takes a form with a file, which only reads. */
function takeFile<Kind extends PageKind>(site: Site<Kind>, page: Page<Kind>, form: FileForm<Kind>): RequestHandler {
  return async (request, response) => {
    // First: the request already has a permit, which a slow sender without a session must not keep.
    const session = await site.findSession(request, true);
    if (session === undefined) {
      discardRest(request);
      return refuseSession(site, { request, response });
    }
    const asked = { session, request, response };
    const body = await readTypedBody(request, [MULTIPART], 'The form could not be read.');
    if (body.kind === 'aborted') return;
    // Its token could not be read, and it does nothing.
    if (body.kind === 'refused') {
      return site.refuseFile(body.reason === 'body_too_large' ? body.reason : 'malformed_form', page, asked);
    }
    const parts = await readMultipart(request, body.bytes);
    if (!(await isFromPage(site, asked, parts?.get('form_token')?.bytes.toString('utf8')))) return;
    if (!(await site.admits(asked, form))) return;
    const file = parts?.get('file')?.bytes;
    if (file === undefined) return site.refuseFile('malformed_form', page, asked);
    site.answer(await form.read(site.contextOf(asked, form), file), page, asked, form.title);
  };
}

/** The address of a refused form stays in the browser. A person who opens it again gets its page. */
function leadBack<Kind extends PageKind>(site: Site<Kind>, page: Page<Kind>): RequestHandler {
  return (request, response, next) => {
    if (site.takes?.(request) === false) return next();
    redirect(response, `${site.base}${page.back ?? fillPath(page.path, request.params)}`);
  };
}

type WithoutSession<Kind extends PageKind> = Omit<Asked<Kind>, 'session'>;

/** Sends a browser without a session to the sign-in. */
async function signIn<Kind extends PageKind>(
  site: Site<Kind>,
  { request, response }: WithoutSession<Kind>,
  page?: Page<Kind>,
): Promise<void> {
  // A new sign-in would only add one more cookie.
  if (site.cookies.hasSeveralSessions(request.headers.cookie)) return refuseSession(site, { request, response });
  redirect(response, `${site.base}${site.signInFor(request, page)}`);
}

/** Refuses a write without a session, or a request with several. */
async function refuseSession<Kind extends PageKind>(
  site: Site<Kind>,
  { request, response }: WithoutSession<Kind>,
): Promise<void> {
  await site.refuse('missing_token', request.trace);
  const hasSeveral = site.cookies.hasSeveralSessions(request.headers.cookie);
  site.say(response, hasSeveral ? { status: 400, kind: 'several_sessions' } : { status: 401, kind: 'session_over' });
}

/** Whether a write comes from a page of the session. Otherwise it is refused here. */
async function isFromPage<Kind extends PageKind>(
  site: Site<Kind>,
  { session, request, response }: Asked<Kind>,
  given: string | undefined,
): Promise<boolean> {
  if (isOwnForm(request, site.origin, { given, expected: session.formToken })) return true;
  await site.refuse('invalid_form_token', request.trace);
  site.say(response, { status: 403, kind: 'form_refused' }, session);
  return false;
}
