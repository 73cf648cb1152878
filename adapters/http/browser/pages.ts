/**
 * The pages of a browser, as values. Each screen of the console and each page of `/me` is one. Its file has `show`, which
 * reads and renders it, and its forms. page-router.ts serves all of them, after the checks that all have in common. A `Site`
 * says what differs between the two sets of pages.
 */

import type { Request, Response } from 'express';
import type { Trace } from '../../../domain/trace-context.ts';
import type { Flash, FlashCookie } from './flash.ts';
import type { BrowserSession } from './session.ts';
import type { SignInCookies } from './sign-in-cookies.ts';

/** The types that differ between the sets of pages. */
export interface PageKind {
  /** Who is signed in. */
  readonly holder: unknown;
  /** What a page may read and use. */
  readonly context: unknown;
  /** What each page, form and feed says beside its path. */
  readonly row: object;
  /** What only a page says. */
  readonly page: object;
  /** What a page shows: its content, or a refusal of the address. */
  readonly shown: unknown;
  /** Why a form was refused, and how that is said. */
  readonly refusal: object;
  /** The one-time messages after a form. */
  readonly notice: string;
}

/** A field of the form. `undefined` if the form cannot be read, or does not have it. */
export type FormField = (name: string) => string | undefined;

/** The part of a request that a page reads. After a refused form it has the address of the page that the form belongs to. */
export type PageRequest = Pick<Request, 'originalUrl' | 'params' | 'permit'>;

export type Row<Kind extends PageKind> = Kind['row'] & {
  /** After the path of the site. A part with a colon is a parameter. */
  readonly path: string;
};

export type Page<Kind extends PageKind> = Row<Kind> &
  Kind['page'] & {
    /** Where its forms lead back to, if its own path has parameters that their paths do not have. */
    readonly back?: string;
    /** Reads what the page shows, and renders it. */
    readonly show: (context: Kind['context'], request: PageRequest) => Promise<Kind['shown']>;
    readonly forms?: Readonly<Record<string, PageForm<Kind>>>;
    /** Forms that only read: their content is too long for an address. */
    readonly fileForms?: Readonly<Record<string, FileForm<Kind>>>;
    /** The answers to the scripts of the page. */
    readonly feeds?: Readonly<Record<string, Feed<Kind>>>;
  };

export type PageForm<Kind extends PageKind> = Row<Kind> & {
  /** The address of the page with the form, by its fields. `undefined` for fields that name none. */
  readonly back?: (field: FormField) => string | undefined;
  /** The change that the form makes. */
  readonly change: (context: Kind['context'], field: FormField, params: Request['params']) => Promise<FormResult<Kind>>;
};

export type FormResult<Kind extends PageKind> =
  /** The browser goes there. `to` is a path of the site with its query. */
  | { readonly kind: 'done'; readonly to: string; readonly notice?: Flash<Kind['notice']> | undefined }
  | ({ readonly kind: 'refused' } & Kind['refusal']);

export type FileForm<Kind extends PageKind> = Row<Kind> & {
  readonly title: string;
  /** Reads the file of the form, and renders a page, to which no address leads again. */
  readonly read: (context: Kind['context'], file: Uint8Array) => Promise<Kind['shown']>;
};

export type Feed<Kind extends PageKind> = Row<Kind> & {
  /** Whether a request counts as a use of the session. The scripts of some pages ask again by themselves. */
  readonly renews: boolean;
  readonly answer: (context: Kind['context'], request: Request, response: Response) => Promise<void>;
};

/** Says why a request is refused. The page for it is the site's. */
export type GuardMessage =
  | { readonly status: 400; readonly kind: 'several_sessions' }
  | { readonly status: 401; readonly kind: 'session_over' }
  | { readonly status: 403; readonly kind: 'form_refused' };

/** A request with its session. */
export interface Asked<Kind extends PageKind> {
  readonly session: BrowserSession<Kind['holder']>;
  readonly request: Request;
  readonly response: Response;
}

/** One set of pages: how it finds its sessions, who may open what, and how it answers. */
export interface Site<Kind extends PageKind> {
  /** An address of the pages. */
  readonly origin: string;
  /** Stands before each path in an address: the path of the issuer. */
  readonly base: string;
  /** The part of each path that the router does not see, because it is mounted there. */
  readonly mount: string;
  readonly cookies: Pick<SignInCookies<string>, 'hasSeveralSessions'>;
  readonly flash: Pick<FlashCookie<Kind['notice']>, 'give'>;
  /** @param renews whether the request counts as a use of the session */
  findSession(request: Request, renews: boolean): Promise<BrowserSession<Kind['holder']> | undefined>;
  /**
   * Whether the pages answer the request. Others go on, to an API with the same paths. Without the function there is no API:
   * other methods are refused, without a record and whatever the role, as the API refuses them.
   *
   * @param page `undefined` for a form
   */
  readonly takes?: (request: Request, page?: Page<Kind>) => boolean;
  /** The path of the sign-in that leads to the page. @param page `undefined` for a feed */
  signInFor(request: Request, page?: Page<Kind>): string;
  /** Whether the person may open the page, or send the form. If not, the site has recorded and answered it. */
  admits(asked: Asked<Kind>, row: Row<Kind>): Promise<boolean>;
  contextOf(asked: Asked<Kind>, row: Row<Kind>): Kind['context'];
  /** Records the refusal. The record names no person. */
  refuse(reason: 'missing_token' | 'invalid_form_token', trace?: Trace): Promise<void>;
  /** Answers with a page that says one thing. @param session of a browser that has one */
  say(response: Response, message: GuardMessage, session?: BrowserSession<Kind['holder']>): void;
  /** Answers with a page. @param title of a form with a file, to whose answer no address leads again */
  answer(shown: Kind['shown'], page: Page<Kind>, asked: Asked<Kind>, title?: string): void;
  /** Makes the change of a form, after the checks that the site makes of each change. */
  change(form: PageForm<Kind>, asked: Asked<Kind>, field: FormField): Promise<FormResult<Kind>>;
  answerRefusal(
    refusal: Kind['refusal'],
    of: { readonly page: Page<Kind>; readonly form: PageForm<Kind>; readonly field: FormField },
    asked: Asked<Kind>,
  ): Promise<void> | void;
  /** Answers a form whose file cannot be read. */
  refuseFile(reason: 'body_too_large' | 'malformed_form', page: Page<Kind>, asked: Asked<Kind>): void;
}

/** A page and all that belongs to it. */
export function rowsOf<Kind extends PageKind>(page: Page<Kind>): readonly Row<Kind>[] {
  return [page, ...[page.forms, page.fileForms, page.feeds].flatMap((rows) => Object.values<Row<Kind>>(rows ?? {}))];
}
