/** Counts and times every request, in front of admission: refused requests count as well. */

import type { RequestListener } from 'node:http';
import type { Measurements, RequestOutcome } from '../../../application/ports/telemetry.ts';
import { routeOf } from '../routes.ts';
import type { ServedResponse } from '../server/message-classes.ts';

export function measuredRequests({ answered }: Pick<Measurements, 'answered'>, next: RequestListener): RequestListener {
  return (request, response) => {
    const began = performance.now();
    const { metric } = routeOf(request.url ?? '');
    response.once('close', () => answered(metric, outcomeOf(response), (performance.now() - began) / 1000));
    next(request, response);
  };
}

/** A SCIM directory that is full (507) says no to what was sent, and nothing is wrong here. */
const FULL = 507;

function outcomeOf(response: ServedResponse): RequestOutcome {
  if (!response.writableFinished) return 'aborted';
  const { statusCode } = response;
  if (statusCode < 400) return 'ok';
  return (
    response.refusal ??
    (statusCode === 503 ? 'unavailable' : statusCode < 500 || statusCode === FULL ? 'refused' : 'failed')
  );
}
