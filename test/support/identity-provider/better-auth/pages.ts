/** The login page and the consent page, which Better Auth leaves to the application. A script can submit their forms. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { consentForm, loginForm, page, readForm, refusedLogin } from '../interactions.ts';
import type { Person } from '../people.ts';

interface PagesSetup {
  readonly origin: string;
  readonly people: readonly Person[];
  readonly betterAuth: (request: Request) => Promise<Response>;
}

export const emailOf = ({ username }: Pick<Person, 'username'>): string => `${username}@people.example`;

export function pages({ origin, people, betterAuth }: PagesSetup) {
  const post = (path: string, cookie: string, body: object) =>
    betterAuth(
      new Request(`${origin}/api/auth${path}`, {
        method: 'POST',
        headers: { origin, cookie, accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, search } = new URL(request.url ?? '/', origin);
    const [, name = '', passed = ''] = pathname.split('/');
    // Better Auth signs the query of its redirect here, and expects it back.
    const query = search.slice(1) || decodeURIComponent(passed);
    const action = `/${name}/${encodeURIComponent(query)}`;
    const asked = new URLSearchParams(query).get('scope') ?? '';
    if (request.method === 'GET') {
      page(response, 200, name === 'sign-in' ? loginForm(action) : consentForm(action, asked));
      return;
    }
    const form = await readForm(request);
    const cookie = request.headers.cookie ?? '';
    const answer =
      name === 'sign-in'
        ? await post('/sign-in/email', cookie, {
            email: emailOf({ username: form.get('username') ?? '' }),
            password: form.get('password'),
            oauth_query: query,
          })
        : await post('/oauth2/consent', cookie, {
            accept: true,
            oauth_query: query,
            scope: await granted(asked, cookie),
          });
    const { url } = (await answer.json()) as { readonly url?: string };
    if (answer.status === 401) page(response, 401, refusedLogin(action));
    else if (url === undefined) page(response, answer.status, '<p>That did not work.</p>');
    else response.writeHead(303, { location: url, 'set-cookie': answer.headers.getSetCookie() }).end();
  };

  /** The requested scopes without those of agents that the person does not hold. */
  async function granted(asked: string, cookie: string): Promise<string> {
    const session = await betterAuth(new Request(`${origin}/api/auth/get-session`, { headers: { cookie } }));
    const { user } = (await session.json()) as { readonly user: { readonly email: string } };
    const person = people.find((candidate) => emailOf(candidate) === user.email);
    const isHeld = (scope: string) => !scope.includes(':') || person?.scopes.includes(scope);
    return asked.split(' ').filter(isHeld).join(' ');
  }
}
