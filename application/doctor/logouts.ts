/** Examines what a back-channel logout does to tasks that belong to no session (supplement "Blocks, poll mode, health"). */

import { type Finding, ok, warning } from './examine.ts';

export interface LogoutSettings {
  /** Whether the service has `/backchannel-logout` for the client whose people start tasks. */
  readonly backchannelLogout: boolean;
  /** `Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession`. */
  readonly endTasksWithoutSession: boolean;
}

const REMEDY =
  'Have the provider put sid into its access tokens or name only the person in its logout tokens, or set Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession.';

/** @param endedNothing whether a logout of the last day ended no task, and left tasks of its person without a session */
export function judgeLogouts(endedNothing: boolean): Finding {
  if (!endedNothing) return ok('In the last day no logout ended nothing but left tasks without a session.');
  return warning(
    'In the last day a logout of a person and a session ended no task, although the person had live tasks: these belong to no session.',
    REMEDY,
  );
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
