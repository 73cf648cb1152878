/** The types of a page of `/me`, and what each page reads of its request. */

import type { Clock } from '../../../application/ports/runtime.ts';
import { shownName } from '../../../domain/sessions/shown-name.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import type { Language } from '../browser/language.ts';
import type { FormResult, Page, PageKind } from '../browser/pages.ts';
import type { ScopeWords } from '../browser/scope-words.ts';
import type { BrowserSession } from '../browser/session.ts';
import { SIGN_IN_AS_ANOTHER } from './cookies.ts';
import type { Message } from './message.ts';
import { findNotice } from './notice.ts';
import type { PageSurface } from './surface.ts';
import type { NoticeFlash, PersonView, Reach } from './view.ts';

export interface PageOptions {
  readonly clock: Clock;
  readonly statusLists: Reach['statusLists'];
  readonly scopeWords: ScopeWords;
  /** Seconds that the session lasts without use. */
  readonly sessionTtl: number;
}

/** A request of a signed-in person. */
export interface MeContext {
  readonly surface: PageSurface;
  readonly person: MePerson;
  readonly session: BrowserSession<MePerson>;
  /** The path of the issuer. */
  readonly base: string;
  readonly language: Language;
  readonly options: PageOptions;
  /** The message about the form before. The browser then forgets it. */
  takeNotice(): NoticeFlash | undefined;
}

export interface MePages extends PageKind {
  readonly holder: MePerson;
  readonly context: MeContext;
  readonly page: {
    /** Whether programs find something else at its path, in the API. */
    readonly isForBrowsersOnly?: boolean;
    /** The path of the sign-in that leads back to it. By default the one that leads to `/me`. */
    readonly signIn?: (params: Readonly<Record<string, unknown>>) => string;
  };
  /** A whole document, or a message in place of the page. */
  readonly shown: { readonly document: string } | Message;
  /** A message, or the page again with the form and what was typed into it. */
  readonly refusal: { readonly message: Message } | { readonly document: string };
  readonly notice: NoticeFlash['kind'];
}

export type MePage = Page<MePages>;
export type Outcome = FormResult<MePages>;

export const HOME = '/me';

export const MALFORMED: Message = { status: 400, kind: 'malformed' };

/**
 * The person has nothing with that id. The page names the account that is signed in, because another one may have it. The page
 * is the same whether the id is stored or not.
 *
 * @param to the path of a sign-in with another account
 */
export function unknownTo(
  context: Pick<MeContext, 'person' | 'session'>,
  kind: 'unknown_task' | 'unknown_approval' | 'unknown_agent',
  to = SIGN_IN_AS_ANOTHER,
): Message {
  return { status: 404, kind, signedIn: { as: nameOf(context), to } };
}

/** The name that the provider gave the person, or else the sponsor key. */
export function nameOf({ person, session }: Pick<MeContext, 'person' | 'session'>): string {
  const { idToken } = session;
  return (idToken && shownName(idToken.reveal(), person.subject)) ?? person.sponsorKey;
}

/** No answer has this sentence: the page for a wrong address names no parameter. */
export const UNREADABLE = 'Must be that of a page.';

export async function personView(context: MeContext): Promise<PersonView> {
  const { surface, session, person, base, options, takeNotice } = context;
  const { scopeWords, sessionTtl, clock } = options;
  const flash = takeNotice();
  const notice = flash && (await findNotice(surface, person, flash));
  return {
    base,
    person: nameOf(context),
    sponsorKey: person.sponsorKey,
    now: clock.now(),
    formToken: session.formToken,
    sessionTtl,
    notice,
    holds: surface.approvals?.holds,
    scopeWords,
    hearsApprovals: surface.approvals !== undefined,
    handsOver: surface.delegation !== undefined,
  };
}
