/**
 * A running Mandate with the door for people, `/oauth2/authorize`, at each of three identity providers. In a real browser a
 * person passes the provider's own pages.
 */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { authorizeSettings } from '../authorize/settings.ts';
import { sqliteFile } from '../databases.ts';
import { startWithBetterAuth } from '../identity-provider/better-auth/with-mandate.ts';
import { glewlwydIsInstalled } from '../identity-provider/glewlwyd.ts';
import { DEFAULT_AUDIENCE } from '../identity-provider/identity-provider.ts';
import { ada } from '../identity-provider/people.ts';
import { AUTHORIZE_CLIENT_ID } from '../identity-provider/provider-configuration.ts';
import { startWithGlewlwyd } from '../identity-provider/with-glewlwyd.ts';
import type { Mandate } from '../mandate.ts';
import { startWithPage } from '../me/person-browser.ts';

export interface Door {
  readonly mandate: Mandate;
  /** Of the browser: whether the provider's certificate is one of the tests. */
  readonly browserOptions: BrowserContextOptions;
  /** Passes the provider's pages as Ada. @param isSignedIn whether this browser has a session there */
  signIn(page: Page, isSignedIn: boolean): Promise<void>;
  stop(): Promise<void>;
}

export interface DoorKind {
  readonly name: string;
  /** Debian's packages that it needs, if they are not installed. */
  readonly missing: string | undefined;
  start(settings?: Readonly<Record<string, string>>): Promise<Door>;
}

/** Programs that only PKCE authenticates may walk in, and may register themselves as an agent that an operator registered. */
export const OPEN: Readonly<Record<string, string>> = {
  'Service:Authorize:PublicClients': 'true',
  'Service:Authorize:Registration': 'known',
};

async function plainForms(page: Page, isSignedIn: boolean): Promise<void> {
  if (isSignedIn) return;
  await page.getByLabel('Name').fill(ada.username);
  await page.getByLabel('Password').fill(ada.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Agree' }).click();
}

export const oidcProvider: DoorKind = {
  name: 'oidc-provider',
  missing: undefined,
  async start(settings = {}) {
    const { mandate, stop } = await startWithPage(sqliteFile, {
      ...authorizeSettings({ audience: DEFAULT_AUDIENCE }),
      ...OPEN,
      ...settings,
    });
    return { mandate, browserOptions: {}, signIn: plainForms, stop };
  },
};

const glewlwyd: DoorKind = {
  name: 'Glewlwyd',
  missing: glewlwydIsInstalled() ? undefined : 'glewlwyd sqlite3',
  async start(settings = {}) {
    const { mandate, stop } = await startWithGlewlwyd(sqliteFile, (issuer) => ({
      'Service:Authorize:ClientId': AUTHORIZE_CLIENT_ID,
      'Service:Authorize:ProviderParameters:resource': issuer,
      ...OPEN,
      ...settings,
    }));
    return {
      mandate,
      browserOptions: {},
      async signIn(page, isSignedIn) {
        if (!isSignedIn) await enter(page);
        // Its page appears at each request.
        await page.getByRole('button', { name: 'Continue' }).click();
      },
      stop,
    };
  },
};

async function enter(page: Page): Promise<void> {
  await page.getByLabel('Login').fill(ada.username);
  await page.getByLabel('Password').fill(ada.password);
  await page.getByRole('button', { name: 'OK' }).click();
  await page.getByRole('button', { name: 'Grant access' }).waitFor();
  for (const scope of await page.locator('input[type=checkbox]:enabled').all()) await scope.check();
  await page.getByRole('button', { name: 'Grant access' }).click();
}

const betterAuth: DoorKind = {
  name: 'Better Auth',
  missing: undefined,
  async start(settings = {}) {
    const { mandate, stop } = await startWithBetterAuth((clients, audience) => ({
      'Service:Authorize:ClientId': clients.authorize,
      'Service:Authorize:ProviderParameters:resource': audience,
      ...OPEN,
      ...settings,
    }));
    return { mandate, browserOptions: { ignoreHTTPSErrors: true }, signIn: plainForms, stop };
  },
};

export const doors: readonly DoorKind[] = [oidcProvider, glewlwyd, betterAuth];
