/** What is said between a run and the process that puts load on. */

export interface LoadOrders {
  /** The replicas, asked in turns. */
  readonly urls: readonly string[];
  readonly issuer: string;
  readonly adminKey: string;
  readonly seed: number;
  /** Requests under way at a time. */
  readonly concurrency: number;
  /** Between one request and the next of the same worker. */
  readonly pauseMs: number;
  /** As many a second, answered or not, instead of so many at a time. */
  readonly pace?: Pace | undefined;
  /** Where every answer is kept, one a line. */
  readonly file: string;
}

export interface Pace {
  readonly perSecond: number;
  /** Every second request over a connection of its own; all over kept ones otherwise. */
  readonly newConnections: boolean;
}

export const stopOrder = 'stop';
export const countOrder = 'count';

export type DriverMessage =
  | { readonly kind: 'cast'; readonly settings: Readonly<Record<string, string>>; readonly agents: readonly string[] }
  | { readonly kind: 'loading' }
  /** Answers so far. */
  | { readonly kind: 'count'; readonly answered: number }
  | { readonly kind: 'over'; readonly answered: number };
