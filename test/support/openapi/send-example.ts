/** Sends an example request of the OpenAPI document, with the credential of its security scheme. */

import { type RawAnswer, readAnswers, sendBytes } from '../hostile/send-bytes.ts';
import type { IdentityProvider } from '../identity-provider/identity-provider.ts';
import { ADMIN_KEY, type Answer, encodeForm, type Form, sendTo } from '../mandate.ts';
import { SCIM_TOKEN } from '../scim-client.ts';
import { PUSH_CREDENTIAL } from '../transmitter.ts';
import { examplesOf, isNode, type Operation } from './api-document.ts';

/** Values that replace those of the example, such as the ids of a running service. */
export interface Changes {
  /** The name of the request's example, by default that of the answer's, otherwise the first. */
  readonly request?: string;
  readonly path?: Readonly<Record<string, string>>;
  /** `undefined` removes a parameter. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Members of the form or the JSON object; `undefined` removes a member. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Replaces the whole body. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Pointers to the example requests that tests have sent. */
const sent = new Set<string>();

export function wasSent(pointer: string): boolean {
  return sent.has(pointer);
}

const CREDENTIALS: Record<string, string> = {
  adminKey: ADMIN_KEY,
  scimToken: SCIM_TOKEN,
  pushToken: PUSH_CREDENTIAL,
};

/** The audience of access tokens for `/me`. */
export const ME_AUDIENCE = 'https://mandate.example/me';

/** Only the identity provider of a test can sign the token of a person. This one signs in now. */
export function presentMeToken(provider: IdentityProvider): void {
  CREDENTIALS.meToken = provider.mintAccessToken({ aud: ME_AUDIENCE, auth_time: Math.floor(Date.now() / 1000) });
}

function credentialOf({ scheme }: Operation): Readonly<Record<string, string>> {
  const credential = scheme && CREDENTIALS[scheme];
  return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
}

export function targetOf({ path, parameters }: Operation, { path: own = {}, query = {} }: Changes): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find(({ value }) => value.in === 'path' && value.name === name);
    return own[name] ?? encodeURIComponent(String(parameter?.value.example));
  });
  const examples = parameters.flatMap(({ value }) =>
    value.in === 'query' && value.example !== undefined ? [[value.name, String(value.example)] as const] : [],
  );
  const encoded = encodeForm({ ...Object.fromEntries(examples), ...query });
  return encoded === '' ? filled : `${filled}?${encoded}`;
}

/** @param example the name of the expected answer's example */
export function sendExample(
  url: string,
  operation: Operation,
  changes: Changes = {},
  example?: string,
): Promise<Answer> {
  const [type, text] = bodyOf(operation, changes, example);
  return sendTo(`${url}${targetOf(operation, changes)}`, {
    method: operation.method.toUpperCase(),
    headers: {
      ...credentialOf(operation),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...changes.headers,
    },
    ...(text === undefined ? {} : { body: text }),
  });
}

function bodyOf(
  { body }: Operation,
  { request, body: members, text }: Changes,
  example: string | undefined,
): readonly [type: string | undefined, text: string | undefined] {
  if (body === undefined) return [undefined, text];
  const [type = ''] = Object.keys(body.value.content ?? {});
  const examples = examplesOf(body);
  const wanted = request ?? example ?? '';
  const found = examples.find(({ pointer }) => pointer.endsWith(`/${wanted}`)) ?? examples[0];
  if (found !== undefined && text === undefined) sent.add(found.pointer);
  if (text !== undefined || typeof found?.value === 'string') return [type, text ?? String(found?.value)];
  const value = { ...(isNode(found?.value) ? found.value : {}), ...members };
  return [type, type.includes('json') ? JSON.stringify(value) : encodeForm(value as Form)];
}

/**
 * Sends a request with this method and path, and the credential of the operation unless there are other headers. `fetch`
 * refuses some methods and normalizes some paths.
 */
export async function sendAsIs(
  url: string,
  operation: Operation,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = credentialOf(operation),
): Promise<Answer> {
  const isJson = Object.keys(operation.body?.value.content ?? {}).some((type) => type.includes('json'));
  const isChange = isJson && method === operation.method.toUpperCase();
  const more = { ...headers, ...(isChange ? { 'content-type': 'application/json', 'content-length': '2' } : {}) };
  const head = Object.entries({ host: 'mandate.test', connection: 'close', ...more }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const bytes = `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${isChange ? '{}' : ''}`;
  const [answer] = readAnswers((await sendBytes(url, bytes)).text, method === 'HEAD');
  return asAnswer(answer);
}

/** @throws if the service sent no answer */
export function asAnswer(raw: RawAnswer | undefined): Answer {
  if (raw === undefined) throw new Error('no answer');
  const { status, body, headers } = raw;
  return { status, text: body, body: body === '' ? {} : JSON.parse(body), headers: new Headers([...headers]) };
}
