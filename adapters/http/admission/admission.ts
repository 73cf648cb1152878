/**
 * The door of the HTTP surface (specification "Rate limiting", "Overload"): in front of the application, so that a
 * request that is not let in costs next to nothing, and before a byte of its body or a credential is looked at.
 *
 * What is refused is recorded under its surface's event. It names nobody, so the ledger takes one record and then counts
 * in memory; the log says each second how many there were, and not each by itself.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AnonymousDenials } from '../../../application/ledger/anonymous-denials.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { Log } from '../../../application/ports/log.ts';
import type { Measurements } from '../../../application/ports/measurements.ts';
import type { EarlyAnswer } from '../early-answers.ts';
import type { WithoutIssuerPath } from '../issuer-path.ts';
import { overload, type WorkTurns } from './overload.ts';
import { type RateLimitRules, rateLimit } from './rate-limit.ts';
import { type AdmissionRefusal, admissionRefusal, answerRefusal, refusalBytes } from './refusals.ts';
import { refusedLines } from './refused-lines.ts';
import { HEALTH, type RequestKind, requestKind, type Work } from './request-kind.ts';
import type { FromSomewhere } from './request-source.ts';
import { shortRounds } from './short-rounds.ts';

export interface AdmissionControl {
  /** `undefined` where nobody's rate is limited. */
  readonly rates: RateLimitRules | undefined;
  /** `undefined` where as much is begun as comes. */
  readonly turns: WorkTurns | undefined;
  /** Refusals are recorded there. */
  readonly denials: Pick<AnonymousDenials, 'record' | 'count'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Is told of each refusal. */
  readonly notAdmitted?: Measurements['notAdmitted'] | undefined;
}

export interface Door {
  readonly listener: RequestListener;
  /** `undefined` where everybody is let in. */
  readonly unread: UnreadDoor | undefined;
}

/** For requests that nobody has read yet. */
export interface UnreadDoor {
  /** Whether the listener turned it away. */
  wasTurnedAway(response: ServerResponse): boolean;
  /** Refuses, by its head, a request that the listener would refuse at once; otherwise does nothing. */
  turnAway(request: FromSomewhere & { readonly url: string }): TurnedAway | undefined;
}

export interface TurnedAway {
  readonly reason: AdmissionRefusal;
  readonly answer: EarlyAnswer;
}

/**
 * The record of the first refusal is written before that is answered. Should the database be slow just now, the answer
 * goes out after this long all the same: whoever is told to come back has no use for the delay.
 */
const RECORD_PATIENCE_MS = 200;

export function admission(control: AdmissionControl, app: RequestListener, withoutPrefix: WithoutIssuerPath): Door {
  const { rates, turns, denials, clock, log, notAdmitted } = control;
  if (rates === undefined && turns === undefined) return { listener: app, unread: undefined };
  const permits = rates && rateLimit(rates, clock);
  const rounds = turns && shortRounds<Work>();
  const takeTurn = turns && overload(turns, { rounds });
  const countLine = refusedLines(log);

  const tell = ({ surface, bucket, work }: RequestKind, reason: AdmissionRefusal): void => {
    countLine(surface, reason);
    notAdmitted?.(reason === 'overloaded' ? { reason, kind: work } : { reason, kind: bucket });
  };

  const refuse = (
    request: IncomingMessage,
    response: ServerResponse,
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

  const listener: RequestListener = (request, response) => {
    const kind = requestKind(withoutPrefix(request.url ?? ''));
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

  const reasonNow = (request: FromSomewhere, { bucket, work }: RequestKind): AdmissionRefusal | undefined => {
    if (permits?.isEmpty(request, bucket)) return 'rate_limited';
    return turns?.[work].isFull ? 'overloaded' : undefined;
  };
  const turnAway: UnreadDoor['turnAway'] = (request) => {
    const kind = requestKind(withoutPrefix(request.url));
    if (kind === HEALTH) return undefined;
    const reason = reasonNow(request, kind);
    // One that is to be written first is waited for, by the listener.
    if (reason === undefined || !denials.count({ event: kind.event, reason })) return undefined;
    // Behind a new connection there may be others in line, whether or not this one is let in.
    rounds?.sees(request.socket);
    // Whoever is refused for want of a turn has had a permit, where there was one.
    if (reason === 'overloaded') permits?.take(request, kind.bucket);
    tell(kind, reason);
    return { reason, answer: refusalBytes(kind.surface, reason) };
  };

  return {
    listener,
    unread: { wasTurnedAway: (response) => admissionRefusal(response) !== undefined, turnAway },
  };
}
