/** Asks a running service for the report of its `/readyz`. */

import type { ReadinessReport } from '../../application/doctor/readiness.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import { readinessStatuses } from '../../application/ports/runtime.ts';
import { isJsonObject, type Json, member, parseStrictJson } from '../../domain/tokens/strict-json.ts';
import { visibleExcerpt } from '../../domain/visible.ts';

/** A report has a few lines. */
const MAX_BYTES = 64 * 1024;
/** Longer than every detail of the service. Longer text comes from another program. */
const MAX_DETAIL = 1000;

/** The checks of the report at this origin. `undefined` without an answer, or for one of another form. */
export async function askReadiness(
  origin: string,
  network: Network,
  timeoutMs: number,
): Promise<readonly ReadinessReport[] | undefined> {
  try {
    const { status, body } = await network.send({
      method: 'GET',
      url: `${origin}/readyz`,
      headers: { accept: 'application/json' },
      timeoutMs,
      maxBytes: MAX_BYTES,
    });
    return status === 200 || status === 503 ? reportsIn(parseStrictJson(body)) : undefined;
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    return undefined;
  }
}

function reportsIn(body: Json | undefined): readonly ReadinessReport[] | undefined {
  const checks = isJsonObject(body) ? member(body, 'checks') : undefined;
  if (!isJsonObject(checks)) return undefined;
  const reports = Object.keys(checks).map((name) => reportOf(name, member(checks, name)));
  return reports.every((report) => report !== undefined) ? reports : undefined;
}

function reportOf(name: string, check: Json | undefined): ReadinessReport | undefined {
  if (!isJsonObject(check)) return undefined;
  const [said, detail] = [member(check, 'status'), member(check, 'detail')];
  const status = readinessStatuses.find((one) => one === said);
  if (status === undefined || typeof detail !== 'string') return undefined;
  return { name: visibleExcerpt(name, MAX_DETAIL), status, detail: visibleExcerpt(detail, MAX_DETAIL) };
}
