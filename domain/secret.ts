/**
 * A value that must not leak by accident: wherever it is printed, logged or serialised, it appears as `[redacted]`
 * (specification "Configuration rules": secret-holding settings are never logged or returned).
 */

const REDACTED = '[redacted]';

export class Secret {
  /** Private at run time as well: spread, key listing, structured clone and inspection cannot reach it. */
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the value. Call it only where the value is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** Called by `util.inspect`, which `console.log` and assertion messages use. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
