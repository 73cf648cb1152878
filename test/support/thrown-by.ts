/** The error of a call that may also succeed. */
export function errorOf(act: () => Promise<unknown>): Promise<unknown> {
  return act().then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** The error with which the promise rejects. @throws if it resolves */
export function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('no error was thrown');
    },
    (error: unknown) => error,
  );
}
