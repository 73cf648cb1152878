/**
 * Examines whether signals of the identity provider end tasks: a back-channel logout those that belong to no session
 * (supplement "Blocks, poll mode, health"), a security event those of its person.
 */

import type { SignalSource } from '../../domain/signals/without-effect.ts';
import { type Finding, ok, warning } from './examine.ts';

export interface LogoutSettings {
  /** Whether the service has `/backchannel-logout` for the client whose people start tasks. */
  readonly backchannelLogout: boolean;
  /** `Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession`. */
  readonly endTasksWithoutSession: boolean;
}

const REMEDY =
  'Have the provider put sid into its access tokens or name only the person in its logout tokens, or set Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession.';

/** The checks of signals without effect (`domain/signals/without-effect.ts`), with the findings that each can have. */
const WORDS: Readonly<Record<SignalSource, Readonly<Record<'check' | 'none' | 'some' | 'remedy', string>>>> = {
  logout: {
    check: 'logouts',
    none: 'In the last day no logout ended nothing but left tasks without a session.',
    some: 'In the last day a logout of a person and a session ended no task, although the person had live tasks: these belong to no session.',
    remedy: REMEDY,
  },
  ssf: {
    check: 'security events',
    none: 'In the last day each security event that ends tasks named a person who is known here.',
    some: 'In the last day a security event that ends tasks named no person who is known here, or a session: nothing ended.',
    remedy:
      'See type and format in the records (GET /audit?event=sponsor.signal&decision=deny). A person for whom no agent acts needs nothing. Otherwise have the transmitter name the person, by the sponsor key.',
  },
};

export const checkOfSignals = (source: SignalSource): string => WORDS[source].check;

/** @param endedNothing whether a signal of the last day would have ended tasks, and ended none */
export function judgeSignals(source: SignalSource, endedNothing: boolean): Finding {
  const { none, some, remedy } = WORDS[source];
  return endedNothing ? warning(some, remedy) : ok(none);
}

/** A subject token without `sid`. */
export function judgeTokenWithoutSession({ backchannelLogout, endTasksWithoutSession }: LogoutSettings): Finding {
  if (!backchannelLogout) return ok('There is no sid. Back-channel logout is off, so no logout ends tasks.');
  if (endTasksWithoutSession) {
    return ok('There is no sid: each logout that names the person ends its tasks, whichever session it names.');
  }
  return warning(
    'There is no sid: a logout that names the person and a session does not end its tasks. One that names only the person does.',
    REMEDY,
  );
}
