/**
 * The door of the HTTP surface (specification "Rate limiting", "Overload"): in front of the application, so that a
 * request that is not let in costs next to nothing, and before a byte of its body or a credential is looked at.
 *
 * What is refused is recorded under its surface's event. It names nobody, so the ledger takes one record and then counts
 * in memory; the log says each second how many there were, and not each by itself.
 */

import type { IncomingMessage, RequestListener } from 'node:http';
import type { AnonymousDenials } from '../../../application/ledger/anonymous-denials.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { Log } from '../../../application/ports/log.ts';
import type { Measurements } from '../../../application/ports/measurements.ts';
import type { AdmissionRefusal, ServedResponse } from '../server/message-classes.ts';
import { throttledLog } from '../server/throttled-log.ts';
import { overload, type WorkTurns } from './overload.ts';
import { type RateLimitRules, rateLimit } from './rate-limit.ts';
import { answerRefusal } from './refusals.ts';
import { HEALTH, type RequestKind, requestKind, type Surface } from './request-kind.ts';

export interface AdmissionControl {
  /** `undefined` where nobody's rate is limited. */
  readonly rates: RateLimitRules | undefined;
  /** `undefined` where as much is begun as comes. */
  readonly turns: WorkTurns | undefined;
  /** Refusals are recorded there. */
  readonly denials: Pick<AnonymousDenials, 'record'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Is told of each refusal. */
  readonly notAdmitted?: Measurements['notAdmitted'] | undefined;
}

/**
 * The record of the first refusal is written before that is answered. Should the database be slow just now, the answer
 * goes out after this long all the same: whoever is told to come back has no use for the delay.
 */
const RECORD_PATIENCE_MS = 200;

export function admission(control: AdmissionControl, app: RequestListener): RequestListener {
  const { rates, turns, denials, clock, log, notAdmitted } = control;
  if (rates === undefined && turns === undefined) return app;
  const permits = rates && rateLimit(rates, clock);
  const takeTurn = turns && overload(turns);
  const countLine = throttledLog<{ surface: Surface; reason: AdmissionRefusal }>(log, 'requests were not let in');

  const tell = ({ surface, bucket, work }: RequestKind, reason: AdmissionRefusal): void => {
    countLine({ surface, reason });
    notAdmitted?.(reason === 'overloaded' ? { reason, kind: work } : { reason, kind: bucket });
  };

  const refuse = (
    request: IncomingMessage,
    response: ServedResponse,
    kind: RequestKind,
    reason: AdmissionRefusal,
  ): void => {
    const { surface, event } = kind;
    tell(kind, reason);
    const answer = () => answerRefusal(request, response, surface, reason);
    const recording = denials.record({ event, reason });
    if (recording === undefined) {
      answer();
      return;
    }
    const patience = setTimeout(answer, RECORD_PATIENCE_MS);
    recording
      .catch((error) => log.error('a refusal could not be recorded', error, { event, reason }))
      .finally(() => {
        clearTimeout(patience);
        answer();
      });
  };

  return (request, response) => {
    const kind = requestKind(request.url ?? '');
    if (kind === HEALTH) {
      app(request, response);
    } else if (permits !== undefined && !permits.take(request, kind.bucket)) {
      refuse(request, response, kind, 'rate_limited');
    } else if (takeTurn === undefined) {
      app(request, response);
    } else {
      takeTurn(request, response, kind, {
        serve: () => app(request, response),
        refuse: () => refuse(request, response, kind, 'overloaded'),
      });
    }
  };
}
