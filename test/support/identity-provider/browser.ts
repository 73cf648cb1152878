/** A minimal browser for a sign-in. It knows cookies with paths, redirects and forms. */

import { trustingFetch } from './trusting-fetch.ts';

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

export interface Browser {
  /** Opens a page and follows redirects, but requests no address that starts with `stopAt`. */
  open(url: string, stopAt?: string): Promise<Page>;
  /** Submits the only form of the page, with its hidden fields and its button, then does as `open` does. */
  submit(page: Page, fields: Readonly<Record<string, string>>, stopAt?: string): Promise<Page>;
  /** The Cookie header of a request to this address. */
  cookies(url: string): string;
  /** Keeps the cookies that an answer sets. */
  keep(headers: Headers): void;
}

/** More redirects than a sign-in has. */
const MAX_REDIRECTS = 20;

interface SentRequest {
  readonly method?: string;
  /** Sent with forms alone, as browsers do. */
  readonly origin?: string;
  readonly body?: URLSearchParams;
}

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

export function makeBrowser(): Browser {
  const cookies = new Map<string, Cookie>();

  function remember(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const cookie = readCookie(line);
      const key = `${cookie.path} ${cookie.name}`;
      if (cookie.value === '') {
        cookies.delete(key);
      } else {
        cookies.set(key, cookie);
      }
    }
  }

  function cookieHeader(url: URL): string {
    return [...cookies.values()]
      .filter(({ path }) => url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  async function load(first: string, init: SentRequest, stopAt: string | undefined): Promise<Page> {
    let url = new URL(first);
    let request = init;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const { origin, ...rest } = request;
      const headers = {
        accept: 'text/html',
        'user-agent': 'Mozilla/5.0',
        cookie: cookieHeader(url),
        ...(origin && { origin }),
      };
      const response = await trustingFetch(url, { ...rest, headers });
      remember(response.headers);
      const location = response.headers.get('location');
      const text = await response.text();
      if (response.status < 300 || response.status > 399 || location === null) {
        return { url: url.href, status: response.status, text };
      }
      url = new URL(location, url);
      if (stopAt !== undefined && url.href.startsWith(stopAt)) {
        return { url: url.href, status: response.status, text: '' };
      }
      request = {};
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects in a row`);
  }

  return {
    open: (url, stopAt) => load(url, {}, stopAt),
    keep: remember,
    cookies: (url) => cookieHeader(new URL(url)),
    submit(page, fields, stopAt) {
      const form = /<form\b[^>]*\baction="([^"]+)"/.exec(page.text)?.[1];
      if (form === undefined) {
        throw new Error(`there is no form on the page (status ${page.status}): ${page.text}`);
      }
      const body = new URLSearchParams({ ...hiddenFields(page.text), ...pressedButton(page.text), ...fields });
      return load(new URL(form, page.url).href, { method: 'POST', origin: new URL(page.url).origin, body }, stopAt);
    },
  };
}

function readCookie(line: string): Cookie {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const equals = pair.indexOf('=');
  const path = attributes.find((attribute) => attribute.toLowerCase().startsWith('path='))?.slice('path='.length);
  return { name: pair.slice(0, equals), value: pair.slice(equals + 1), path: path ?? '/' };
}

function pressedButton(html: string): Record<string, string> {
  const [, name, value] = /<button\b[^>]*name="([^"]+)"[^>]*value="([^"]*)"/.exec(html) ?? [];
  return name === undefined || value === undefined ? {} : { [name]: value };
}

function hiddenFields(html: string): Record<string, string> {
  const inputs = html.matchAll(/<input\b[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value]));
}
