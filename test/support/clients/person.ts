/** A person at the page of a request, in a real browser, or by a script that sends what the page's form sends. */

import type { BrowserContext, Page } from 'playwright-core';
import { browse, devices } from '../browser.ts';
import { type Page as Loaded, makeBrowser } from '../identity-provider/browser.ts';
import { ada, type Person } from '../identity-provider/people.ts';
import { passThePages } from '../identity-provider/sign-in.ts';
import type { Mandate } from '../mandate.ts';
import type { Door } from './doors.ts';

export interface PersonsAnswer {
  /** The scopes that the person takes away. */
  readonly without?: readonly string[];
  readonly answer?: 'Allow' | 'Refuse';
}

/** In one browser: the provider asks only once who the person is. */
export interface PersonInBrowser {
  /** Opens the address, answers, and waits until the browser has left for the program. @returns the scopes that were offered */
  answer(address: string | URL, answer?: PersonsAnswer): Promise<readonly string[]>;
  /** The same, where the program's own page sends this browser to the address. */
  answerWhenSent(answer?: PersonsAnswer): Promise<readonly string[]>;
  /** The page on which the answer arrived, of the program. */
  readonly page: Page;
  close(): Promise<void>;
}

export async function personInBrowser({ mandate, browserOptions, signIn }: Door): Promise<PersonInBrowser> {
  const context: BrowserContext = await browse({ ...devices.desktop, ...browserOptions });
  const page = await context.newPage();
  let isSignedIn = false;
  const answerWhenSent: PersonInBrowser['answerWhenSent'] = async ({ without = [], answer = 'Allow' } = {}) => {
    await signIn(page, isSignedIn);
    isSignedIn = true;
    await page.getByRole('heading', { name: /act for you\?$/ }).waitFor();
    const boxes = page.locator('input[name=scope]');
    const offered = await boxes.evaluateAll((all) => all.map((box) => (box as unknown as { value: string }).value));
    for (const scope of without) await page.locator(`input[name=scope][value="${scope}"]`).uncheck();
    await page.getByRole('button', { name: answer, exact: true }).click();
    await page.waitForURL((url) => url.origin !== mandate.issuer);
    return offered;
  };
  return {
    page,
    answerWhenSent,
    async answer(address, answer) {
      await page.goto(String(address));
      return answerWhenSent(answer);
    },
    close: () => context.close(),
  };
}

/** Passes the pages of `startIdentityProvider` and the page of the request without a browser. @returns the address of the answer */
export async function allowByScript(
  mandate: Pick<Mandate, 'issuer'>,
  address: string | URL,
  { without = [], answer = 'Allow' }: PersonsAnswer = {},
  person: Person = ada,
): Promise<URL> {
  const browser = makeBrowser();
  const callback = `${mandate.issuer}/oauth2/authorize/callback`;
  const back = await passThePages(browser, new URL(address), person, callback);
  return answerForm(await browser.open(back.href), browser, { without, answer });
}

async function answerForm(
  page: Loaded,
  browser: ReturnType<typeof makeBrowser>,
  { without = [], answer }: PersonsAnswer,
): Promise<URL> {
  const fieldOf = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? '';
  const offered = [...page.text.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope = '']) => scope);
  const longest = /<option value="(\d+)" selected/.exec(page.text)?.[1];
  const action = /<form\b[^>]*\baction="([^"]+)"/.exec(page.text)?.[1];
  if (action === undefined || longest === undefined) {
    throw new Error(`There is no question on the page (status ${page.status}): ${page.text}`);
  }
  const form = new URLSearchParams({
    form_token: fieldOf('form_token'),
    lasts: longest,
    answer: answer === 'Refuse' ? 'refuse' : 'allow',
  });
  for (const scope of offered) if (!without.includes(scope)) form.append('scope', scope);
  const target = new URL(action, page.url);
  const answered = await fetch(target, {
    method: 'POST',
    headers: { cookie: browser.cookies(target.href), origin: target.origin, accept: 'text/html' },
    body: form,
    redirect: 'manual',
  });
  const location = answered.headers.get('location');
  if (answered.status !== 303 || location === null) {
    throw new Error(`The form should lead on with 303, not ${answered.status}: ${await answered.text()}`);
  }
  return new URL(location);
}
