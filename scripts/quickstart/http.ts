/** Sends the HTTP requests of the quickstart, and reads their JSON responses. */

import { StoryBroke } from './story-broke.ts';

export interface Answer {
  readonly status: number;
  /** Empty if the response has no body. */
  readonly body: Readonly<Record<string, unknown>>;
}

export function postForm(url: string, form: Readonly<Record<string, string>>): Promise<Answer> {
  return send(url, { method: 'POST', body: new URLSearchParams(form) });
}

export async function send(url: string, init: RequestInit = {}): Promise<Answer> {
  return read(await fetch(url, init));
}

/** A text member of a response, which must be present. */
export function text(answer: Answer, member: string): string {
  const value = answer.body[member];
  if (typeof value !== 'string') {
    throw new StoryBroke(`The answer should have ${member}, and does not.`);
  }
  return value;
}

/** The status of a response, with the error code of a refusal: `200`, `400 invalid_scope`. */
export function outcome({ status, body }: Answer): string {
  return typeof body.error === 'string' ? `${status} ${body.error}` : String(status);
}

/** Reads the JSON object in a response. */
export async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const body: unknown = text === '' ? {} : JSON.parse(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const { pathname } = new URL(response.url);
    throw new StoryBroke(`${pathname} answered ${response.status} with a body that is not a JSON object.`);
  }
  return { status: response.status, body: { ...body } };
}

/** A member of an object. `undefined` if the value is not an object, or has no such member. */
export function readMember(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === member)?.[1]
    : undefined;
}
