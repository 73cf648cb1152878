/**
 * A value that must not leak by accident: printed, logged, serialised or inspected it shows as `[redacted]`
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

  /** `util.inspect` calls it, and through it `console.log` and assertion messages. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
