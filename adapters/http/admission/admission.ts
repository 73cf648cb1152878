/**
 * Admits or refuses requests before the application sees them (specification "Rate limiting", "Overload"). A request
 * goes through three steps. request-source.ts says where it comes from. rate-limit.ts counts it for that source.
 * concurrency.ts gives it a permit for its kind of work, or lets it wait for one. refusals.ts answers a refused
 * request in the shape of its surface, and the refusal is recorded as an anonymous denial. Refusing is cheap: it reads
 * neither the body nor the credential. The log gets at most one line a second.
 */

import type { RequestListener } from 'node:http';
import type { AnonymousDenials } from '../../../application/ledger/anonymous-denials.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import type { Log, Measurements } from '../../../application/ports/telemetry.ts';
import type { Route, RoutedListener, Surface } from '../routes.ts';
import type { AdmissionRefusal, ServedRequest, ServedResponse } from '../server/message-classes.ts';
import { throttledLog } from '../server/throttled-log.ts';
import { limitConcurrency, type WorkLimiters } from './concurrency.ts';
import { type RateLimitRules, rateLimit } from './rate-limit.ts';
import { answerRefusal, type PagesOf } from './refusals.ts';

export interface AdmissionControl {
  /** `undefined` if rates are not limited (`Service:RateLimit:Enabled`). */
  readonly rates: RateLimitRules | undefined;
  /** `undefined` if concurrency is not limited (`Service:Overload:Enabled`). */
  readonly limiters: WorkLimiters | undefined;
  readonly pages?: PagesOf | undefined;
  /** Records refused requests. */
  readonly denials: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts each refusal for the metrics. */
  readonly notAdmitted?: Measurements['notAdmitted'] | undefined;
}

/**
 * The first refusal of a window is recorded before it is answered. If the database is slow, the answer does not wait
 * longer than this: it only tells the client to retry.
 */
const RECORD_LIMIT_MS = 200;

export function admission(control: AdmissionControl, app: RequestListener): RoutedListener {
  const { rates, limiters, denials, clock, log, notAdmitted } = control;
  const permits = rates && rateLimit(rates, clock);
  const limit = limiters && limitConcurrency(limiters);
  const logRefusal = throttledLog<{ surface: Surface; reason: AdmissionRefusal }>(log, 'requests were refused');

  const refuse = (request: ServedRequest, response: ServedResponse, route: Route, reason: AdmissionRefusal): void => {
    const { surface, event, bucket, work } = route;
    logRefusal({ surface, reason });
    notAdmitted?.(reason === 'overloaded' ? { reason, kind: work } : { reason, kind: bucket });
    const answer = () => answerRefusal(request, response, surface, reason, control.pages);
    const recording = denials.record({ event, reason }, request.trace);
    if (recording === undefined) {
      answer();
      return;
    }
    const timer = setTimeout(answer, RECORD_LIMIT_MS);
    recording
      .catch((error) => log.error('a refusal could not be recorded', error, { event, reason }))
      .finally(() => {
        clearTimeout(timer);
        answer();
      });
  };

  return (request, response, route) => {
    if (route.isHealth) {
      app(request, response);
    } else if (request.isTooLate) {
      refuse(request, response, route, 'overloaded');
    } else if (permits !== undefined && !permits.take(request, route.bucket)) {
      refuse(request, response, route, 'rate_limited');
    } else if (limit === undefined) {
      app(request, response);
    } else {
      limit(request, response, route, {
        serve: () => app(request, response),
        refuse: () => refuse(request, response, route, 'overloaded'),
      });
    }
  };
}
