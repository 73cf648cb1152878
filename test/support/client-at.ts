/** The requests of a client and of the admin key to a service that runs at an address. */

import { ADMIN_KEY, type Answer, encodeForm, sendTo } from './mandate.ts';

export interface ClientAt {
  readonly url: string;
  post(path: string, form: Readonly<Record<string, string | undefined>>, headers?: object): Promise<Answer>;
  admin(method: string, path: string, body?: unknown, headers?: object): Promise<Answer>;
}

export const clientAt = (url: string): ClientAt => ({
  url,
  post: (path, form, headers = {}) =>
    sendTo(`${url}${path}`, {
      method: 'POST',
      body: encodeForm(form),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    }),
  admin: (method, path, body, headers = {}) =>
    sendTo(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
});
