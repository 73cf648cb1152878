/**
 * A value that must not be read by accident: however it is printed, logged, serialised or inspected, it shows as
 * `[redacted]` (specification "Configuration rules": secret-holding settings are never logged or returned).
 */

const REDACTED = '[redacted]';

export class Secret {
  /** Private at run time too: no spread, key listing, structured clone or inspection with hidden members reaches it. */
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the one place that uses it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** What `util.inspect`, and so `console.log` and assertion messages, print. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
