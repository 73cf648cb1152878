/**
 * Serializes errors for messages between threads. A structured clone would lose Mandate's error classes and the error
 * codes, which decide the answer and the log entry.
 */

import { type DatabaseFault, StorageUnavailable } from '../../../../application/ports/decisions.ts';

/** The classes that callers distinguish. Errors of all other classes become an Error. */
const CLASSES = { RangeError, TypeError, Error } as const;

export interface SerializedError {
  readonly class: keyof typeof CLASSES | 'StorageUnavailable';
  readonly message: string;
  readonly code: string | number | undefined;
  readonly stack: string | undefined;
  readonly cause: SerializedError | undefined;
  /** The fault of a StorageUnavailable; `undefined` for other errors. */
  readonly fault: DatabaseFault | undefined;
}

/** The log reports as many causes. A limit is needed, because a chain of causes may be circular. */
const MAX_CAUSES = 4;

export function serializeError(thrown: unknown, causes: number = MAX_CAUSES): SerializedError {
  if (!(thrown instanceof Error)) return serializeError(new Error(`A ${typeof thrown} was thrown, which is no error.`));
  const code: unknown = 'code' in thrown ? thrown.code : undefined;
  return {
    class: classOf(thrown),
    message: thrown.message,
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    stack: thrown.stack,
    cause: thrown.cause === undefined || causes === 0 ? undefined : serializeError(thrown.cause, causes - 1),
    fault: thrown instanceof StorageUnavailable ? thrown.fault : undefined,
  };
}

function classOf(error: Error): SerializedError['class'] {
  if (error instanceof StorageUnavailable) return 'StorageUnavailable';
  if (error instanceof RangeError) return 'RangeError';
  return error instanceof TypeError ? 'TypeError' : 'Error';
}

/** Rebuilds the error, with the stack of the other thread. */
export function deserializeError({ class: name, message, code, stack, cause, fault }: SerializedError): Error {
  const options = cause === undefined ? {} : { cause: deserializeError(cause) };
  const error =
    name === 'StorageUnavailable'
      ? new StorageUnavailable(message, { ...options, fault })
      : new CLASSES[name](message, options);
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
}
