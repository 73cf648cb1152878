/** What the tests of instances with a wrong clock share. */

import { expect } from 'chai';
import type { Answer, Mandate } from './mandate.ts';

export const AN_HOUR = 3600;
/** After the end of an assertion: the skew, and the minute for which its `jti` is kept. */
export const KEPT = 120;

/** The check of the clock at `/readyz`. */
export async function clockOf(instance: Mandate): Promise<{ status: string; detail: string } | undefined> {
  const { body } = await instance.get('/readyz', { accept: 'application/json' });
  return (body.checks as Readonly<Record<string, { status: string; detail: string }>>).clock;
}

/** Expects the refusal of an assertion. */
export function isRefused({ status, body }: Answer): void {
  expect([status, body.error]).to.deep.equal([401, 'invalid_client']);
}

/** Expects the refusal of an assertion that only a doubtful clock finds expired. */
export function isInDoubt({ status, body, headers }: Answer): void {
  expect([status, body.error]).to.deep.equal([503, 'temporarily_unavailable']);
  expect(headers.get('retry-after')).to.match(/^[1-9]\d*$/);
}
