/** A client of the SCIM endpoint. */

import { type Answer, type Mandate, sendTo } from './mandate.ts';

export const SCIM_TOKEN = 'scim-token-of-these-tests-0123456789abcdef';
export const PREVIOUS_SCIM_TOKEN = 'scim-token-that-was-before-0123456789abcdef';

export const scimSettings = {
  'Service:Scim:BearerToken': SCIM_TOKEN,
  'Service:Scim:PreviousBearerToken': PREVIOUS_SCIM_TOKEN,
} as const;

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** The body of a PATCH that replaces these attributes. */
export function patch(value: Readonly<Record<string, unknown>>): object {
  return { schemas: [PATCH_SCHEMA], Operations: [{ op: 'replace', value }] };
}

export interface ScimClient {
  /** @param body sent unchanged if it is a string, otherwise as JSON */
  send(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Creates a user. Resolves with the user's id. @throws unless the status is 201 */
  create(body: Readonly<Record<string, unknown>>): Promise<string>;
}

export function scimClient({ url }: Pick<Mandate, 'url'>): ScimClient {
  const send: ScimClient['send'] = (method, path, body, headers = {}) => {
    const authorized = { authorization: `Bearer ${SCIM_TOKEN}`, ...headers };
    if (body === undefined) return sendTo(`${url}/scim/v2${path}`, { method, headers: authorized });
    return sendTo(`${url}/scim/v2${path}`, {
      method,
      headers: { 'content-type': 'application/scim+json; charset=utf-8', ...authorized },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
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
