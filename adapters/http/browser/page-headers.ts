/** The headers of every page, and answers of browsers' requests that are no page. */

import type { IncomingMessage } from 'node:http';
import type { Response } from 'express';

/** @param forms where forms may lead, with all redirects after them, as a directive that ends with a semicolon and a space */
function policyWith(forms: string): string {
  return `default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; ${forms}frame-ancestors 'none'; base-uri 'none'`;
}

/** For every page. A redirect after a form leads to this origin only. */
export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policyWith("form-action 'self'; "),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  // No window of another origin keeps a reference to the page, and no other origin embeds it.
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

/**
 * For pages with forms. With `no-referrer` a browser sends `Origin: null` with a form (Fetch §3.2), and one that does not
 * know fetch metadata could then prove no origin.
 */
export const FORM_PAGE_HEADERS = { ...PAGE_HEADERS, 'Referrer-Policy': 'same-origin' } as const;

/**
 * The same, where the answer to a form leads to a client. Chromium checks `form-action` on each redirect that follows, and the client's
 * host may go on to any other: an https address to a private scheme, which only the client knows. So the policy does not limit forms.
 */
export const CLIENT_FORM_PAGE_HEADERS = { ...FORM_PAGE_HEADERS, 'Content-Security-Policy': policyWith('') } as const;

/** The body that Express sends with a redirect is a page too, so it gets the headers of a page. */
export function redirect(response: Response, address: string, status = 302): void {
  response.set(PAGE_HEADERS).redirect(status, address);
}

/** Whether a browser opens the address, or a program calls it. */
export function wantsPage({ headers }: IncomingMessage): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}
