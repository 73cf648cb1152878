/**
 * Signals that would end tasks, and ended none. The sender gets the same answer as for any other signal. So the record, the log,
 * the metrics and `mandate doctor` say it.
 */

/** The reason of the record, by the receiver of the signal. */
export const WITHOUT_EFFECT = {
  /** The logout of a session ended no task, and tasks of its person that belong to no session go on. */
  logout: 'sponsor_logged_out_no_tasks',
  /** The subject of a security event is a person of whom nothing is stored, or no person but a session. */
  ssf: 'ssf_nothing_ended',
} as const;

export type SignalSource = keyof typeof WITHOUT_EFFECT;

export const signalSources = Object.keys(WITHOUT_EFFECT) as readonly SignalSource[];
