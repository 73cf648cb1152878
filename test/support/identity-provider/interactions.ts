/** The login page and the consent page of the identity provider, as plain forms that a script can submit. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { Person } from './people.ts';

/** More than a name and a password need. */
const MAX_FORM_BYTES = 4096;

/** Serves the page `/interaction/{uid}` and its forms, `/login` and `/consent`. */
export async function handleInteraction(
  provider: Provider,
  people: readonly Person[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const details = await provider.interactionDetails(request, response);
  const action = new URL(request.url ?? '/', provider.issuer).pathname.split('/')[3];
  const path = `/interaction/${details.uid}`;

  if (request.method === 'GET' && action === undefined) {
    page(
      response,
      200,
      details.prompt.name === 'login'
        ? loginForm(`${path}/login`)
        : consentForm(`${path}/consent`, details.params.scope),
    );
    return;
  }
  if (request.method === 'POST' && action === 'login' && details.prompt.name === 'login') {
    const form = await readForm(request);
    const person = people.find(({ username }) => username === form.get('username'));
    if (person === undefined || person.password !== form.get('password')) {
      page(response, 401, refusedLogin(`${path}/login`));
      return;
    }
    await provider.interactionFinished(request, response, { login: { accountId: person.username } });
    return;
  }
  if (request.method === 'POST' && action === 'consent' && details.prompt.name === 'consent') {
    const person = people.find(({ username }) => username === details.session?.accountId);
    const grantId = await consent(provider, details, person?.scopes ?? []);
    await provider.interactionFinished(request, response, { consent: { grantId } });
    return;
  }
  page(response, 404, '<p>There is no such page.</p>');
}

/** Grants the requested scopes that the person holds, and rejects the others, or the page would appear again. */
async function consent(
  provider: Provider,
  details: Awaited<ReturnType<Provider['interactionDetails']>>,
  held: readonly string[],
): Promise<string> {
  const grant =
    (details.grantId === undefined ? undefined : await provider.Grant.find(details.grantId)) ??
    new provider.Grant({
      accountId: details.session?.accountId,
      clientId: String(details.params.client_id),
    });
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = details.prompt.details as {
    readonly missingOIDCScope?: string[];
    readonly missingOIDCClaims?: string[];
    readonly missingResourceScopes?: Record<string, string[]>;
  };
  grant.addOIDCScope(missingOIDCScope ?? []);
  grant.addOIDCClaims(missingOIDCClaims ?? []);
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.filter((scope) => held.includes(scope)).join(' '));
    grant.rejectResourceScope(resource, scopes.filter((scope) => !held.includes(scope)).join(' '));
  }
  return grant.save();
}

export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > MAX_FORM_BYTES) {
      throw new Error('the form is longer than a name and a password can be');
    }
  }
  return new URLSearchParams(text);
}

export function page(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`<!doctype html><title>Identity provider</title>${body}`);
}

export function loginForm(action: string): string {
  return `<form method="post" action="${action}">
<label>Name <input name="username" autocomplete="username"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button>Sign in</button></form>`;
}

export function refusedLogin(action: string): string {
  return `<p role="alert">That is not a name and password we know.</p>${loginForm(action)}`;
}

export function consentForm(action: string, scope: unknown): string {
  const asked = typeof scope === 'string' ? scope.replace(/[^\w: .-]/g, '') : '';
  return `<form method="post" action="${action}">
<p>The application asks for: ${asked}</p><button>Agree</button></form>`;
}
