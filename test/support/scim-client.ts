/** Speaks to the SCIM receiver of a running service as identity providers do. */

import type { Answer, Mandate } from './mandate.ts';

export const SCIM_TOKEN = 'scim-token-of-these-tests-0123456789abcdef';
export const PREVIOUS_SCIM_TOKEN = 'scim-token-that-was-before-0123456789abcdef';

export const scimSettings = {
  'Service:Scim:BearerToken': SCIM_TOKEN,
  'Service:Scim:PreviousBearerToken': PREVIOUS_SCIM_TOKEN,
} as const;

export interface ScimClient {
  /** @param body text is sent as it is, anything else as JSON */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** A create that is expected to work, and the user's id. */
  create(body: Readonly<Record<string, unknown>>): Promise<string>;
}

export function scimClient({ url }: Pick<Mandate, 'url'>): ScimClient {
  const send: ScimClient['send'] = async (method, path, body, headers = {}) => {
    const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
    const response = await fetch(`${url}/scim/v2${path}`, {
      method,
      ...content,
      headers: {
        authorization: `Bearer ${SCIM_TOKEN}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json; charset=utf-8' }),
        ...headers,
      },
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
  };
  return {
    send,
    async create(body) {
      const answer = await send('POST', '/Users', body);
      if (answer.status !== 201) throw new Error(`a create was answered ${answer.status}: ${answer.text}`);
      return String(answer.body.id);
    },
  };
}
