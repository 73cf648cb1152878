/** What the main thread and the database's thread say to each other. Each message is a list of these, in order. */

import type { LogFields } from '../../../../application/ports/telemetry.ts';
import type { CarriedError } from './carried-error.ts';
import type { Shape } from './remote.ts';

export type ToDatabase =
  /** `name` has dots, such as `ports.agents.find`. */
  | { readonly kind: 'call'; readonly id: number; readonly name: string; readonly given: readonly unknown[] }
  /** The last one: nothing is called after it. */
  | { readonly kind: 'close' };

export type FromDatabase =
  | { readonly kind: 'opened'; readonly shape: Shape }
  | { readonly kind: 'not_opened'; readonly error: CarriedError }
  | { readonly kind: 'done'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly error: CarriedError }
  | {
      readonly kind: 'logged';
      readonly level: 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: LogFields | undefined;
      /** Of an error. */
      readonly cause: CarriedError | undefined;
    };
