/**
 * Errors on their way between threads. Cloning one would keep neither our own class nor its code, which decide what is
 * answered and what the log can say.
 */

import { StorageUnavailable } from '../../../../application/ports/storage.ts';

/** Those that somebody tells apart; any other arrives as an Error. */
const CLASSES = { StorageUnavailable, RangeError, TypeError, Error } as const;

export interface CarriedError {
  readonly class: keyof typeof CLASSES;
  readonly message: string;
  readonly code: string | number | undefined;
  readonly stack: string | undefined;
  readonly cause: CarriedError | undefined;
}

/** As many as the log reports. A chain may also be a ring. */
const MAX_CAUSES = 4;

export function carryError(thrown: unknown, causes: number = MAX_CAUSES): CarriedError {
  if (!(thrown instanceof Error)) return carryError(new Error(`What was thrown is no error but ${typeof thrown}.`));
  const code: unknown = 'code' in thrown ? thrown.code : undefined;
  return {
    class: classOf(thrown),
    message: thrown.message,
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    stack: thrown.stack,
    cause: thrown.cause === undefined || causes === 0 ? undefined : carryError(thrown.cause, causes - 1),
  };
}

function classOf(error: Error): CarriedError['class'] {
  if (error instanceof StorageUnavailable) return 'StorageUnavailable';
  if (error instanceof RangeError) return 'RangeError';
  return error instanceof TypeError ? 'TypeError' : 'Error';
}

/** As it was thrown, with the stack of where that was. */
export function restoreError({ class: name, message, code, stack, cause }: CarriedError): Error {
  const error = new CLASSES[name](message, cause === undefined ? {} : { cause: restoreError(cause) });
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
}
