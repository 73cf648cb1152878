/** Field values that operators may read: never a token, key, grant or assertion, nor other data from a request. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `cause` is logged by its class, code and stack: its message is not trusted to be free of request data. */
  error(message: string, cause: unknown, fields?: LogFields): void;
}
