/** A running Mandate with the console, a provider at which operators sign in there, and their scripted browsers. */

import type { OperatorRole } from '../../../domain/operators/operator.ts';
import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../databases.ts';
import { makeBrowser } from '../identity-provider/browser.ts';
import { type IdentityProvider, startIdentityProvider } from '../identity-provider/identity-provider.ts';
import { ada, grace, type Person } from '../identity-provider/people.ts';
import { CONSOLE_CLIENT_ID } from '../identity-provider/provider-configuration.ts';
import { type PassPages, passThePages } from '../identity-provider/sign-in.ts';
import { type Answer, encodeForm, type Mandate, sendTo, startMandate } from '../mandate.ts';
import { OPERATORS, ROLE_VALUES } from '../operators.ts';

function operator(username: string, ...roles: readonly OperatorRole[]): Person {
  const claims = { oid: `${username}-oid`, roles: roles.map((role) => ROLE_VALUES[role]) };
  return { username, password: `${username}-at-three-in-the-morning`, name: username, scopes: [], claims };
}

export const operators = {
  viewer: operator('vera', 'viewer'),
  auditor: operator('aude', 'auditor'),
  registrar: operator('remy', 'registrar'),
  responder: operator('rosa', 'responder'),
  /** Auditor and responder. */
  both: operator('olga', 'auditor', 'responder'),
  second: operator('otto', 'responder'),
  none: operator('nils'),
} as const;

export interface ConsoleWithProvider {
  readonly mandate: Mandate;
  readonly provider: IdentityProvider;
  /** The provider of the operators: another one, if they have their own. */
  readonly operatorsProvider: IdentityProvider;
  /** `Service:Console:Origin`. */
  readonly origin: string;
  stop(): Promise<void>;
}

interface ConsoleProviderOptions {
  /** Whether operators sign in at another provider than the people whom agents act for. */
  readonly hasOwnProvider?: boolean;
  /** The secret of the console's client. */
  readonly secret?: string;
  /** Whether the operators' provider requires its token endpoint as the `aud` of client assertions. */
  readonly acceptsOnlyTokenEndpoint?: boolean;
}

export async function startWithConsole(
  database: TestDatabase,
  settings: Readonly<Record<string, string>> = {},
  { hasOwnProvider = false, secret, acceptsOnlyTokenEndpoint = false }: ConsoleProviderOptions = {},
): Promise<ConsoleWithProvider> {
  const [port, consolePort] = [await freePort(), await freePort()];
  const [issuer, origin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${consolePort}`];
  const people = [ada, grace, ...Object.values(operators)];
  const operatorsProvider = await startIdentityProvider({
    people,
    acceptsOnlyTokenEndpoint,
    console: { issuer, origin, ...(secret && { secret }) },
  });
  const provider = hasOwnProvider ? await startIdentityProvider() : operatorsProvider;
  const mandate = await startMandate({
    database,
    provider,
    settings: {
      PORT: String(port),
      'Service:Issuer': issuer,
      ...OPERATORS,
      'Service:Operators:ClientId': CONSOLE_CLIENT_ID,
      'Service:Console:Port': String(consolePort),
      'Service:Console:Origin': origin,
      ...(hasOwnProvider && { 'Service:Operators:Issuer': operatorsProvider.issuer }),
      ...settings,
    },
  });
  return {
    mandate,
    provider,
    operatorsProvider,
    origin,
    async stop() {
      await mandate.stop();
      await operatorsProvider.stop();
      if (hasOwnProvider) await provider.stop();
    },
  };
}

export interface OperatorsBrowser {
  /** The answer to the return address. */
  readonly signedIn: Answer;
  /** @param method by default `GET` */
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Answer>;
  /** Posts a form as a page of the console does. Given fields replace the form token. */
  post(
    path: string,
    fields?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  formToken(): Promise<string>;
  cookies(): string;
  /** Another person signs in, in the same browser, at the provider's own sign-in form. @returns as `signedIn` */
  signIn(person: Person): Promise<Answer>;
}

/** Signs an operator in without a real browser. @param pass by default for the pages of `startIdentityProvider` */
export async function signedInOperator(
  { origin }: Pick<ConsoleWithProvider, 'origin'>,
  person: Person,
  pass: PassPages = passThePages,
): Promise<OperatorsBrowser> {
  let browser = makeBrowser();
  const cookies = () =>
    browser
      .cookies(`${origin}/`)
      .split('; ')
      .filter((cookie) => cookie.startsWith('__Host-mandate-console'))
      .join('; ');
  const get: OperatorsBrowser['get'] = (path, headers = {}, method = 'GET') =>
    sendTo(`${origin}${path}`, { method, headers: { accept: 'text/html', cookie: cookies(), ...headers } });
  const signIn: OperatorsBrowser['signIn'] = async (signingIn) => {
    // Without the provider's cookies: its session would sign the earlier person in again.
    const next = makeBrowser();
    next.keep(
      new Headers(
        cookies()
          .split('; ')
          .map((cookie) => ['set-cookie', cookie]),
      ),
    );
    browser = next;
    const back = await pass(browser, new URL(`${origin}/sign-in`), signingIn, `${origin}/callback`);
    const answer = await get(`${back.pathname}${back.search}`);
    browser.keep(answer.headers);
    return answer;
  };
  const signedIn = await signIn(person);
  const formToken = async () => /name="form_token" value="([^"]+)"/.exec((await get('/')).text)?.[1] ?? '';
  return {
    signedIn,
    get,
    cookies,
    formToken,
    signIn,
    post: async (path, fields = {}, headers = {}) =>
      sendTo(`${origin}${path}`, {
        method: 'POST',
        headers: {
          accept: 'text/html',
          cookie: cookies(),
          origin,
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        },
        body: encodeForm({ form_token: await formToken(), ...fields }),
      }),
  };
}
