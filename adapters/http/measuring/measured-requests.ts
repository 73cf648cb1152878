/** Counts and times every request there is, in front of everything else: those that are not let in count as well. */

import type { ServerResponse } from 'node:http';
import type { Measurements, RequestOutcome } from '../../../application/ports/measurements.ts';
import type { Door } from '../admission/admission.ts';
import { admissionRefusal } from '../admission/refusals.ts';
import type { WithoutIssuerPath } from '../issuer-path.ts';
import { measuredSurface } from './measured-surface.ts';

export function measuredRequests(
  { answered }: Pick<Measurements, 'answered'>,
  door: Door,
  withoutPrefix: WithoutIssuerPath,
): Door {
  const { listener, unread } = door;
  const surfaceOf = (url: string) => measuredSurface(withoutPrefix(url));
  const secondsSince = (began: number) => (performance.now() - began) / 1000;
  return {
    listener(request, response) {
      const began = performance.now();
      const surface = surfaceOf(request.url ?? '');
      response.once('close', () => answered(surface, outcomeOf(response), secondsSince(began)));
      listener(request, response);
    },
    unread: unread && {
      ...unread,
      turnAway(request) {
        const began = performance.now();
        const turnedAway = unread.turnAway(request);
        if (turnedAway !== undefined) answered(surfaceOf(request.url), turnedAway.reason, secondsSince(began));
        return turnedAway;
      },
    },
  };
}

/** A SCIM directory that is full (507) says no to what was sent, and nothing is wrong here. */
const FULL = 507;

function outcomeOf(response: ServerResponse): RequestOutcome {
  if (!response.writableFinished) return 'aborted';
  const { statusCode } = response;
  if (statusCode < 400) return 'ok';
  return (
    admissionRefusal(response) ??
    (statusCode === 503 ? 'unavailable' : statusCode < 500 || statusCode === FULL ? 'refused' : 'failed')
  );
}
