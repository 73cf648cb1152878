/** The form of a refusal case, and the answer that it must get. */

import { expect } from 'chai';
import type {
  AccessEvent,
  RefusalReason,
  ToolServerOptions,
} from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { type FakeControlPlane, TASK_ID, TOKEN_ID } from './control-plane.ts';
import type { RawAnswer } from './raw-request.ts';

/** Far from the machine's time, so that code that reads the machine's clock fails. */
export const NOW = 1_900_000_000;
export const REALM = 'The "Jira" \\ tools';

export interface RefusalCase {
  readonly reason: RefusalReason;
  readonly what: string;
  /** By default a valid token for the route. */
  readonly token?: (plane: FakeControlPlane) => string;
  readonly headers?: (plane: FakeControlPlane) => readonly (readonly [string, string])[];
  readonly route?: string;
  readonly path?: string;
  readonly prepare?: (plane: FakeControlPlane) => void | Promise<void>;
  readonly options?: Partial<ToolServerOptions>;
  /** The access event's fields about the caller. All are null unless the token is verified. */
  readonly known?: Partial<AccessEvent>;
  readonly remark?: string;
  readonly retryAfter?: string;
}

export const VERIFIED = {
  sub: 'ada',
  act: 'agent:triage',
  depth: 1,
  task_id: TASK_ID,
  jti: TOKEN_ID,
  instance: 'pod-7',
};
export const { instance: _, ...WITHOUT_INSTANCE } = VERIFIED;
export const NOBODY = { sub: null, act: null, depth: null, task_id: null, jti: null };

/** @param depths from the outermost actor to the innermost */
export function chain(...depths: readonly number[]): object {
  return depths.reduceRight<object>(
    (act, depth, index) => ({ sub: `agent:hop-${index}`, depth, ...(index === depths.length - 1 ? {} : { act }) }),
    {},
  );
}

export const signed = (claims: Readonly<Record<string, unknown>>) => (plane: FakeControlPlane) => plane.token(claims);

const ERRORS = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
  503: 'temporarily_unavailable',
} as const;
const statusOf = (reason: RefusalReason): keyof typeof ERRORS => {
  if (reason === 'malformed_request') return 400;
  if (/^(delegation_too_deep|insufficient_scope|unknown_route|unknown_tool)$/.test(reason)) return 403;
  return reason.endsWith('_unavailable') ? 503 : 401;
};

/** Expects exactly the response in the table. @param more header parameters after realm, error and description */
export function expectRefusal(
  answer: RawAnswer,
  { reason, remark = '', retryAfter }: Pick<RefusalCase, 'reason' | 'remark' | 'retryAfter'>,
  more = '',
): void {
  const status = statusOf(reason);
  const error = ERRORS[status];
  expect(answer.status).to.equal(status);
  const { error_description: description, ...body } = JSON.parse(answer.body) as Record<string, string>;
  expect(body).to.deep.equal({ error, reason });
  expect(description).to.match(/^[A-Z].*\.$/);
  expect(description?.endsWith(remark), description).to.equal(true);
  if (remark === '') expect(description).not.to.match(/Missing|Reason/);
  const realm = 'Bearer realm="The \\"Jira\\" \\\\ tools"';
  const fault = `, error="${error}", error_description="${description}"`;
  const challenge = reason === 'missing_token' ? realm : `${realm}${fault}`;
  expect(answer.headers['www-authenticate']).to.equal(status === 503 ? undefined : `${challenge}${more}`);
  expect(answer.headers['retry-after']).to.equal(retryAfter);
  expect(answer.headers['content-type']).to.match(/^application\/json/);
  expect(answer.headers['cache-control']).to.equal('no-store');
}
