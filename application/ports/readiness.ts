/** Something `/readyz` asks. */
export interface ReadinessCheck {
  /** A word for the check, as it appears in the JSON answer. */
  readonly name: string;
  /** Bounded in time; never throws. `detail` is one sentence, and nothing secret. */
  check(): Promise<{ readonly status: 'Healthy' | 'Degraded' | 'Unhealthy'; readonly detail: string }>;
}
