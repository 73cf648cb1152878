/** A client without a library at `/oauth2/authorize`, and a person with a browser who answers it, over real HTTP with a real provider. */

import { createHash } from 'node:crypto';
import type { TestDatabase } from '../databases.ts';
import { type Browser, makeBrowser } from '../identity-provider/browser.ts';
import { DEFAULT_AUDIENCE, type IdentityProviderOptions } from '../identity-provider/identity-provider.ts';
import { ada, type Person } from '../identity-provider/people.ts';
import { passThePages } from '../identity-provider/sign-in.ts';
import {
  type Answer,
  aRegistration,
  encodeForm,
  JIRA,
  type Mandate,
  type MandateOptions,
  type Times,
  WIKI,
} from '../mandate.ts';
import { type PageWithProvider, startWithPage } from '../me/person-browser.ts';
import { authorizeSettings } from './settings.ts';

export const CALLBACK = 'https://client.example/cb?kept=1';
export const VERIFIER = 'a-code-verifier-of-at-least-forty-three-characters';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const STATE = 'client state & more';

type Parameters = Readonly<Record<string, string | undefined>>;

/** A Mandate with the door for people, at which public clients may come in. */
export async function startDoor(
  database: TestDatabase,
  settings: Readonly<Record<string, string>> = {},
  options: IdentityProviderOptions &
    Pick<MandateOptions, 'issuerPath' | 'timeLimits'> & { readonly times?: Times } = {},
): Promise<PageWithProvider> {
  const door = authorizeSettings({ audience: options.audience ?? DEFAULT_AUDIENCE });
  const given = { 'Service:Authorize:PublicClients': 'true', ...door, ...settings };
  return startWithPage(database, given, options);
}

/** Registers a public agent, which may act at two resources. */
export async function publicAgent(mandate: Mandate, changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const agentId = `program-${Math.random().toString(36).slice(2, 10)}`;
  const answer = await mandate.admin('POST', '/admin/agents', {
    ...aRegistration({
      agent_id: agentId,
      display_name: 'Ticket program',
      allowed_audiences: [JIRA, WIKI],
      allowed_scopes: ['jira:read', 'jira:comment', 'jira:admin'],
      max_task_ttl: 'PT2H',
      redirect_uris: [CALLBACK],
      public_client: true,
      ...changes,
    }),
  });
  if (answer.status !== 201) throw new Error(`the agent was refused: ${answer.text}`);
  return agentId;
}

/** The parameters of a good request. Given ones replace them; `undefined` removes one. */
export function authorizationRequest(clientId: string, changes: Parameters = {}): string {
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    state: STATE,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    resource: JIRA,
    scope: 'jira:read jira:comment jira:admin',
    ...changes,
  };
  return encodeForm(parameters);
}

/** What an answer tells the client: the parameters of its redirect. */
export function toldClient(answer: Pick<Answer, 'headers'>): Readonly<Record<string, string>> {
  const address = new URL(answer.headers.get('location') ?? 'no:redirect');
  return Object.fromEntries(address.searchParams);
}

/** The address of the only link of a page. */
export function linkBack(page: Pick<Answer, 'text'>): URL | undefined {
  const [, address] = /<a class="button main" href="([^"]+)"/.exec(page.text) ?? [];
  return address === undefined ? undefined : new URL(address.replaceAll('&amp;', '&'));
}

export const titleOf = (page: Pick<Answer, 'text'>) => /<h1>(.*?)<\/h1>/.exec(page.text)?.[1]?.replace(/<[^>]*>/g, '');

/** A person whose browser a client has opened. */
export interface DoorPerson {
  readonly browser: Browser;
  /** Mandate's cookies. */
  cookies(): string;
  /** Begins the request, and signs in. Resolves with the return address, unopened. */
  signIn(query: string): Promise<URL>;
  /** Opens an address of Mandate, and keeps the cookies that the answer sets. */
  open(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** From the request to the answer of the callback. */
  comeBack(query: string): Promise<Answer>;
  /** From the request to the page. */
  question(query: string): Promise<Question>;
}

export interface Question {
  readonly path: string;
  readonly page: Answer;
  /** Sends the form as the page does: all scopes, and the agent's own limit. `undefined` removes a field. */
  answer(
    answer: 'allow' | 'refuse',
    changes?: Readonly<Record<string, string | readonly string[] | undefined>>,
  ): Promise<Answer>;
}

export function doorPerson(mandate: Mandate, person: Person = ada): DoorPerson {
  const browser = makeBrowser();
  const callback = `${mandate.issuer}/oauth2/authorize/callback`;
  const cookies = () =>
    browser
      .cookies(callback)
      .split('; ')
      .filter((cookie) => cookie.startsWith('__Host-mandate-'))
      .join('; ');
  const open: DoorPerson['open'] = async (path, headers = {}) => {
    const answer = await mandate.get(path, { cookie: cookies(), accept: 'text/html', ...headers });
    browser.keep(answer.headers);
    return answer;
  };
  const signIn: DoorPerson['signIn'] = (query) =>
    passThePages(browser, new URL(`${mandate.url}/oauth2/authorize?${query}`), person, callback);
  const comeBack: DoorPerson['comeBack'] = async (query) => {
    const { pathname, search } = await signIn(query);
    return open(`${pathname}${search}`);
  };
  return {
    browser,
    cookies,
    signIn,
    open,
    comeBack,
    async question(query) {
      const answer = await comeBack(query);
      const path = answer.headers.get('location');
      if (answer.status !== 303 || path === null) throw new Error(`no page: ${answer.status} ${titleOf(answer)}`);
      const page = await open(path);
      return {
        path,
        page,
        answer: (kind, changes) => sendAnswer(mandate, { path, page, cookies: cookies() }, kind, changes),
      };
    },
  };
}

export async function sendAnswer(
  mandate: Mandate,
  { path, page, cookies }: { readonly path: string; readonly page: Answer; readonly cookies: string },
  answer: 'allow' | 'refuse',
  changes: Readonly<Record<string, string | readonly string[] | undefined>> = {},
): Promise<Answer> {
  const all = (pattern: RegExp) => [...page.text.matchAll(pattern)].map(([, value = '']) => value);
  const fields = {
    form_token: all(/name="form_token" value="([^"]+)"/g),
    scope: all(/name="scope" value="([^"]+)"/g),
    lasts: all(/<option value="(\d+)" selected/g),
    answer: [answer],
    ...changes,
  };
  const pairs = Object.entries(fields).flatMap(([name, values]) =>
    (typeof values === 'string' ? [values] : (values ?? [])).map((value): [string, string] => [name, value]),
  );
  return mandate.send(path, {
    method: 'POST',
    headers: {
      cookie: cookies,
      origin: new URL(mandate.issuer).origin,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(pairs).toString(),
    redirect: 'manual',
  });
}
