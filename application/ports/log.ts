/** What an operator may read of a field: never a token, key, grant or assertion, nor anything else that was sent. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `cause` is logged by its class, code and stack, never by its message alone being trusted to be clean. */
  error(message: string, cause: unknown, fields?: LogFields): void;
}
