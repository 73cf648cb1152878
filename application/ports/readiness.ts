/** A check of `/readyz`. */
export interface ReadinessCheck {
  /** The check's name in the JSON response, one word. */
  readonly name: string;
  /** Bounded in time; never throws. `detail` is one sentence without secrets. */
  check(): Promise<{ readonly status: 'Healthy' | 'Degraded' | 'Unhealthy'; readonly detail: string }>;
}
