/** A person with a browser who signs in at the page `/me` of a running Mandate, at its real provider. */

import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../databases.ts';
import { type Browser, makeBrowser } from '../identity-provider/browser.ts';
import {
  type IdentityProvider,
  type IdentityProviderOptions,
  startIdentityProvider,
} from '../identity-provider/identity-provider.ts';
import { ada, type Person } from '../identity-provider/people.ts';
import { PAGE_CLIENT_ID } from '../identity-provider/provider-configuration.ts';
import { type PassPages, passThePages } from '../identity-provider/sign-in.ts';
import { type Answer, encodeForm, type Mandate, type MandateOptions, startMandate, type Times } from '../mandate.ts';

export interface PageWithProvider {
  readonly mandate: Mandate;
  readonly provider: IdentityProvider;
  stop(): Promise<void>;
}

/** A Mandate with the page `/me`, and a provider at which people sign in there. */
export async function startWithPage(
  database: TestDatabase,
  settings: Readonly<Record<string, string>> = {},
  {
    issuerPath = '',
    timeLimits,
    times = {},
    ...options
  }: IdentityProviderOptions & Pick<MandateOptions, 'issuerPath' | 'timeLimits'> & { readonly times?: Times } = {},
): Promise<PageWithProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}${issuerPath}`;
  const provider = await startIdentityProvider({ ...options, page: { ...options.page, issuer } });
  const mandate = await startMandate({
    database,
    provider,
    ...times,
    ...(timeLimits && { timeLimits }),
    settings: { PORT: String(port), 'Service:Issuer': issuer, 'Service:Me:ClientId': PAGE_CLIENT_ID, ...settings },
  });
  return {
    mandate,
    provider,
    async stop() {
      await mandate.stop();
      await provider.stop();
    },
  };
}

export interface PersonBrowser {
  readonly browser: Browser;
  /** Signs in at the provider. Resolves with the address that the provider sends the browser back to, unopened. */
  returnAddress(path?: string): Promise<URL>;
  /** Opens the return address with the browser's cookies, and any others. Keeps the cookies that the answer sets. */
  finish(address: URL, cookies?: string): Promise<Answer>;
  signIn(path?: string): Promise<Answer>;
  /** Mandate's cookies, as the browser sends them. The provider is on the same host, so it would send that one's too. */
  cookies(): string;
}

/** @param pass by default for the pages of `startIdentityProvider` */
export function personBrowser(mandate: Mandate, person: Person = ada, pass: PassPages = passThePages): PersonBrowser {
  const browser = makeBrowser();
  const cookies = () =>
    browser
      .cookies(`${mandate.issuer}/me`)
      .split('; ')
      .filter((cookie) => cookie.startsWith('__Host-mandate-'))
      .join('; ');
  const returnAddress: PersonBrowser['returnAddress'] = (path = '/me/sign-in') =>
    pass(browser, new URL(`${mandate.url}${path}`), person, `${mandate.issuer}/me/callback`);
  const finish: PersonBrowser['finish'] = async (address, given = cookies()) => {
    const answer = await mandate.get(`${address.pathname}${address.search}`, { cookie: given });
    browser.keep(answer.headers);
    return answer;
  };
  return {
    browser,
    returnAddress,
    finish,
    cookies,
    signIn: async (path) => finish(await returnAddress(path)),
  };
}

/** Posts a form as the service's own page does. */
export function postOwn(mandate: Mandate, path: string, cookie: string, form: Record<string, string>): Promise<Answer> {
  return mandate.send(path, {
    method: 'POST',
    headers: { cookie, origin: mandate.issuer, 'content-type': 'application/x-www-form-urlencoded' },
    body: encodeForm(form),
  });
}
