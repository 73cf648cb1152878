/**
 * Sign-ins that fail, at the page /me and at the console, at a real provider: the page that the person reads, and the
 * log line. They touch no database.
 */

import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { operators, startWithConsole } from '../support/console/operators-browser.ts';
import { sqliteFile } from '../support/databases.ts';
import { makeBrowser } from '../support/identity-provider/browser.ts';
import type { IdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { ada, type Person } from '../support/identity-provider/people.ts';
import { passThePages } from '../support/identity-provider/sign-in.ts';
import { type Answer, type Mandate, sendTo } from '../support/mandate.ts';
import { startWithPage } from '../support/me/person-browser.ts';

/** A running service, and where its pages are. */
interface Pages {
  readonly mandate: Mandate;
  readonly provider: IdentityProvider;
  /** The address of the pages: the issuer and `/me`, or the console's. */
  readonly at: string;
  readonly home: string;
  readonly person: Person;
  stop(): Promise<void>;
}

async function pagesOfMe(secretPath?: string): Promise<Pages> {
  const settings = secretPath === undefined ? {} : { 'Service:Me:ClientSecret:Path': secretPath };
  const page = { issuer: '', ...(secretPath && { secret: 'the secret that the provider knows' }) };
  const running = await startWithPage(sqliteFile, settings, { page });
  return { ...running, at: `${running.mandate.issuer}/me`, home: '/me', person: ada };
}

async function pagesOfConsole(secretPath?: string): Promise<Pages> {
  const settings = secretPath === undefined ? {} : { 'Service:Operators:ClientSecret:Path': secretPath };
  const options = secretPath === undefined ? {} : { secret: 'the secret that the provider knows' };
  const running = await startWithConsole(sqliteFile, settings, options);
  return { ...running, provider: running.operatorsProvider, at: running.origin, home: '/', person: operators.viewer };
}

/** One browser with several windows. */
function windows({ at, person }: Pages) {
  const browser = makeBrowser();
  const cookies = () =>
    browser
      .cookies(`${at}/`)
      .split('; ')
      .filter((cookie) => cookie.startsWith('__Host-mandate-'))
      .join('; ');
  return {
    cookies,
    /** Opens the sign-in in a window, and goes through the provider's pages. Resolves with the address of the way back. */
    begin: (path = '/sign-in') => passThePages(browser, new URL(`${at}${path}`), person, `${at}/callback`),
    async finish(address: URL): Promise<Answer> {
      const answer = await sendTo(address.href, { headers: { accept: 'text/html', cookie: cookies() } });
      browser.keep(answer.headers);
      return answer;
    },
  };
}

/** Where the console has other words than the page /me. */
const CONSOLE_TITLES: Readonly<Record<string, string>> = {
  client_refused: 'The identity provider refuses the console',
  provider_unavailable: 'The identity provider does not answer',
};

const surfaces = { 'at /me': pagesOfMe, 'at the console': pagesOfConsole } as const;

for (const [name, start] of Object.entries(surfaces)) {
  describe(`A failed sign-in ${name}`, function () {
    this.timeout(60_000);
    let pages: Pages;
    before(async () => {
      pages = await start();
    });
    after(() => pages.stop());

    const shown = (answer: Answer) => [answer.status, /<h1>([^<]*)<\/h1>/.exec(answer.text)?.[1]];
    /** The lines of the log about this request, which must have no code, token or cookie. */
    const logged = async (act: () => Promise<unknown>): Promise<readonly Record<string, unknown>[]> => {
      const from = pages.mandate.log.lines.length;
      await act();
      const lines = pages.mandate.log.lines.slice(from);
      expect(lines.join('\n')).not.to.match(/eyJ|[\w-]{43}|code=/);
      return lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'A sign-in was refused.');
    };
    const expectHome = (answer: Answer) =>
      expect([answer.status, answer.headers.get('location')], answer.text).to.deep.equal([302, pages.home]);

    /** A sign-in whose way back has other parameters. */
    const returned = async (change: (parameters: URLSearchParams) => void): Promise<Answer> => {
      const { begin, finish } = windows(pages);
      const address = await begin();
      change(address.searchParams);
      return finish(address);
    };
    const failing =
      (error: string, error_description = '') =>
      (parameters: URLSearchParams) => {
        parameters.delete('code');
        parameters.set('error', error);
        parameters.set('error_description', error_description);
      };
    const causes: Readonly<Record<string, readonly [number, string, (parameters: URLSearchParams) => void]>> = {
      sign_in_superseded: [400, 'Another window began a sign-in', (sent) => sent.set('state', 'x'.repeat(43))],
      sign_in_cancelled: [400, 'The sign-in was cancelled', failing('access_denied', 'secret '.repeat(1000))],
      login_required: [400, 'did not ask you to sign in', failing('login_required')],
      client_refused: [503, 'Your organisation does not accept this service', failing('unauthorized_client')],
      provider_unavailable: [503, 'The sign-in is not available', failing('server_error')],
      sign_in_answer_refused: [400, 'is incomplete', (sent) => sent.delete('code')],
      sign_in_code_refused: [400, 'This sign-in is over', (sent) => sent.set('code', 'x'.repeat(43))],
    };
    for (const [reason, [status, title, change]] of Object.entries(causes)) {
      it(`says what to do next, and logs ${reason}`, async () => {
        const [line] = await logged(async () => {
          const answer = await returned(change);
          expect(answer.status).to.equal(status);
          expect(shown(answer)[1]).to.include(name === 'at /me' ? title : (CONSOLE_TITLES[reason] ?? title));
          expect(answer.text).to.match(/href="[^"]*\/sign-in">(Begin|Try) again</);
          expect(answer.text).not.to.include('secret');
        });
        expect(line).to.include({ level: 'warn', reason });
      });
    }

    it('says what to do next if the provider sends an error of 64 KiB back, and logs none of it', async () => {
      for (const [length, status] of [
        [12 * 1024, 414],
        [64 * 1024, 431],
      ] as const) {
        await logged(async () => {
          const answer = await returned(failing('access_denied', 'secret '.padEnd(length, 'x')));
          expect([answer.status, answer.text.includes('begin again at the start')]).to.deep.equal([status, true]);
          expect(answer.text).not.to.include('secret');
        });
      }
      expect(pages.mandate.log.lines.join('\n')).not.to.include('secret ');
    });

    it('blames another window, not the account, with two and three windows: the newest one signs in, and then all lead to the page', async () => {
      for (const count of [2, 3]) {
        const { begin, finish } = windows(pages);
        const addresses: URL[] = [];
        for (let nth = 0; nth < count; nth++) addresses.push(await begin());
        const [first, last] = [addresses[0] as URL, addresses.at(-1) as URL];
        expect(shown(await finish(first))).to.deep.equal([400, 'Another window began a sign-in']);
        expectHome(await finish(last));
        for (const address of addresses) expectHome(await finish(address));
        // A window that begins once more does not take the session away.
        const late = await begin();
        expectHome(await finish(first));
        expectHome(await finish(late));
      }
    });

    it('works with the back button: a used return address leads to the page, and without a session to a new sign-in', async () => {
      const { begin, finish } = windows(pages);
      const address = await begin();
      expectHome(await finish(address));
      expectHome(await finish(address));
      const [, title] = shown(await sendTo(address.href, { headers: { accept: 'text/html' } }));
      expect(title).to.match(/^The sign-in was not (completed|finished)$/);
    });

    it('says that the provider refuses the service, and not the person, if the client secret is wrong: no secret is logged', async () => {
      const path = join(tmpdir(), `wrong-secret-${randomUUID()}`);
      const secret = 'a-secret-that-the-provider-does-not-know';
      await writeFile(path, secret);
      const wrong = await start(path);
      try {
        const { begin, finish } = windows(wrong);
        const [status, title] = shown(await finish(await begin()));
        expect([status, title]).to.deep.equal([
          503,
          name === 'at /me' ? 'Your organisation does not accept this service' : CONSOLE_TITLES.client_refused,
        ]);
        const lines = wrong.mandate.log.lines.join('\n');
        expect(lines).to.include('"reason":"client_refused"').and.include('"error":"invalid_client"');
        expect(lines).not.to.include(secret);
      } finally {
        await wrong.stop();
      }
    });
  });
}
