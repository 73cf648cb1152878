/** What clients did not get, held against what was done to the service: nothing else excuses it. */

import { isLost, type Kept } from '../load/kept.ts';

/** Of the requests that reached a process whose database was there. */
const UNSERVED_SHARE = 0.01;
/** For a client to find out that its connection is gone. */
const NOTICED_WITHIN_MS = 1_000;
/** What a load may fall short of the rate that was asked for. */
const LEAST_OF_RATE = 0.9;

export interface Judged {
  readonly figure: string;
  readonly losses: readonly string[];
}

/** Those who reached a replica, and were told to come back. */
export function unserved(kept: readonly Kept[]): Judged {
  const asked = kept.filter(({ refused }) => refused !== true);
  const share = asked.filter(({ status }) => status === 503).length / asked.length;
  const percent = `${(share * 100).toFixed(2)} %`;
  return {
    figure: `of the requests that reached a replica, ${percent} were answered 503`,
    losses: share > UNSERVED_SHARE ? [`${percent} were answered 503 while nothing was wrong with the database`] : [],
  };
}

/** @param kills by `wallClock`, when a process was killed; whoever it had heard and not answered then is excused */
export function unanswered(kept: readonly Kept[], kills: readonly number[] = []): readonly string[] {
  return kept
    .filter(isLost)
    .filter(({ began, ended }) => !kills.some((at) => began - NOTICED_WITHIN_MS <= at && at <= ended))
    .map(({ act, error }) => `"${act}" was not answered, and nobody had been killed: ${error}`);
}

/** A load that does not come about finds nothing. */
export function atRate(kept: readonly Kept[], perSecond: number): Judged {
  const began = kept.map((one) => one.began).sort((one, other) => one - other);
  const seconds = ((began.at(-1) ?? 0) - (began[0] ?? 0)) / 1000;
  const rate = seconds > 0 ? kept.length / seconds : 0;
  return {
    figure: `${Math.round(rate)} requests a second were sent`,
    losses:
      rate < perSecond * LEAST_OF_RATE ? [`only ${Math.round(rate)} of ${perSecond} requests a second were sent`] : [],
  };
}
