/** The reasons why the service does not start. Each is a sentence that repeats no value. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
  readonly reasons: readonly string[];

  constructor(reasons: readonly string[]) {
    super(reasons.join('\n'));
    this.reasons = reasons;
  }
}
