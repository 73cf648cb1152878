/**
 * Chromium, one for each test process, from the package `@sparticuz/chromium`: nothing is downloaded or installed. The
 * package has a program for Linux on x64; elsewhere `CHROMIUM` names one.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { ada, type Person } from './identity-provider/people.ts';
import { byLength } from './length.ts';

export const devices = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  desktop: { viewport: { width: 1100, height: 800 } },
} as const;

/** Of the looks in which a test shows pages, the first in `npm test`, and all at full length. */
export function looksByLength<Look>(looks: readonly Look[]): readonly Look[] {
  return byLength({ short: looks.slice(0, 1), full: looks });
}

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const screenshots = fileURLToPath(new URL('../../.mandate/screenshots', import.meta.url));

let launched: Promise<Browser> | undefined;

/** A new context: its own cookies, and by default a phone, light, in English, with script. */
export async function browse(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  launched ??= launch();
  const context = await (await launched).newContext({
    ...devices.phone,
    locale: 'en',
    timezoneId: 'UTC',
    colorScheme: 'light',
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(20_000);
  return context;
}

/** Ends the browser of this process. The next `browse` starts another one. */
export async function closeBrowser(): Promise<void> {
  const browser = await launched;
  launched = undefined;
  await browser?.close();
}

const leavesPictures = byLength({ short: false, full: true });

/**
 * At full length, leaves a picture of the whole page in the git-ignored folder `.mandate/screenshots`. A picture takes a
 * quarter of a CPU second, and no test reads it.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!leavesPictures) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

/** The elements among these whose text begins with its second character on the left of its first: something turned it around. */
export function turnedAround(page: Page, selector: string): Promise<readonly string[]> {
  return page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].filter(({ firstChild }) => {
    const left = (nth) => {
      const range = document.createRange();
      range.setStart(firstChild, nth);
      range.setEnd(firstChild, nth + 1);
      return range.getBoundingClientRect().left;
    };
    return left(1) < left(0);
  }).map(({ textContent }) => textContent)`);
}

/** The findings of axe on the page. Playwright runs it beside the page's own script, so a strict CSP stays as it is. */
export async function accessibilityFaults(page: Page): Promise<readonly string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: axe is a global of the page, where this function runs
    const found = await (globalThis as any).axe.run({ resultTypes: ['violations'] });
    return found.violations.flatMap(({ id, nodes }: { id: string; nodes: { html: string }[] }) =>
      nodes.map(({ html }) => `${id}: ${html}`),
    );
  });
}

/**
 * The same at full length. In `npm test` it scans nothing, because a scan takes three quarters of a CPU second. There
 * `test/adapters/http/me/page.test.ts` and `test/system/console/sizes-browser.test.ts` scan one state of most pages.
 */
export const accessibilityFaultsByLength: typeof accessibilityFaults = byLength({
  short: async () => [],
  full: accessibilityFaults,
});

/** Brings axe into each document that the page opens from now on, for a third less than each scan would. */
export async function willBeScanned(page: Page): Promise<void> {
  await page.addInitScript(axe.source);
}

async function launch(): Promise<Browser> {
  const other = process.env.CHROMIUM;
  // Without a zygote, Chromium is the parent of its renderers, and waits for them: .ci/run counts their CPU time.
  const options = { chromiumSandbox: false, args: ['--no-zygote'] };
  if (other !== undefined) return chromium.launch({ ...options, executablePath: other });
  const folder = unpacked();
  // The package also has the libraries that a minimal Linux lacks, and a font.
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
    FONTCONFIG_FILE: join(folder, 'fonts.conf'),
  };
  return chromium.launch({ ...options, executablePath: join(folder, 'chromium'), env });
}

/** Unpacks the package once for all processes, because it would write to fixed names in the temporary folder. */
function unpacked(): string {
  const home = join(modules, '.cache', 'chromium');
  const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz', 'chromium', 'package.json'), 'utf8'));
  const folder = join(home, version);
  if (existsSync(folder)) return folder;
  mkdirSync(home, { recursive: true });
  const unfinished = mkdtempSync(join(home, 'unfinished-'));
  const unpack = "import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())";
  // On Lambda the package also unpacks the libraries.
  const env = { ...process.env, TMPDIR: unfinished, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' };
  execFileSync(process.execPath, ['--input-type=module', '--eval', unpack], { cwd: join(modules, '..'), env });
  const fonts = `<fontconfig><dir>${join(folder, 'fonts')}</dir><cachedir>${join(folder, 'cache')}</cachedir></fontconfig>`;
  writeFileSync(join(unfinished, 'fonts.conf'), fonts);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

/** Waits until the page says that text, which the next page does after a write. Fails if it says another one. */
export async function expectSaid(page: Page, text: string): Promise<void> {
  const exactly = new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
  await page.locator('[role=status]').first().filter({ hasText: exactly }).waitFor({ state: 'attached' });
}

/**
 * Opens pages in new contexts in which people are signed in. Each person passes the provider's own pages once: later
 * contexts begin with the provider's cookies, so the provider sends them back at once, with their own session.
 */
export function signedInPages(): (address: string, person: Person, options?: BrowserContextOptions) => Promise<Page> {
  const known = new Map<string, Awaited<ReturnType<BrowserContext['cookies']>>>();
  return async (address, person, options) => {
    const cookies = known.get(person.username);
    const context = await browse(options);
    if (cookies !== undefined) await context.addCookies(cookies);
    const page = await context.newPage();
    await page.goto(address);
    if (cookies === undefined) {
      await signIn(page, person);
      const all = await context.cookies();
      known.set(
        person.username,
        all.filter(({ name }) => PROVIDERS_COOKIE.test(name)),
      );
    }
    return page;
  };
}

/** The names of the cookies of the test provider, which is on the same host as the service. */
export const PROVIDERS_COOKIE = /^_[^_]/;

/** Signs a person, by default Ada, in at the test provider's own pages. */
export async function signIn(page: Page, person: Pick<Person, 'username' | 'password'> = ada): Promise<void> {
  await page.getByLabel('Name').fill(person.username);
  await page.getByLabel('Password').fill(person.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Agree' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
}
