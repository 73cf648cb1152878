/** What the person's page shows. */

import type { MyTask } from '../../../application/me/my-tasks.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Flash } from '../browser/flash.ts';

export interface MeView {
  /** The path of the issuer, before `/me`. */
  readonly base: string;
  /** The sponsor key: operators find the person by it, and `sub` may be a random text. */
  readonly person: string;
  readonly now: Instant;
  readonly live: readonly MyTask[];
  readonly history: readonly MyTask[];
  /** The cursor of the next page of tasks. */
  readonly next: string | undefined;
  /** Whether this is the first page of tasks. */
  readonly isFirst: boolean;
  /** When the person paused agents. */
  readonly pausedAt: Instant | undefined;
  /** Whether another source than the person blocks agents. */
  readonly blockedByOthers: boolean;
  readonly canPause: boolean;
  /** Whether the person could lift a pause. Without that they cannot place one, and the page says why. */
  readonly isPauseLiftable: boolean;
  /** Whether the person signed in lately enough to lift the pause. */
  readonly mayResume: boolean;
  readonly formToken: string;
  /** Whether the provider can end its own session too. */
  readonly signsOutEverywhere: boolean;
  /** Seconds that the session lasts without use. */
  readonly sessionTtl: number;
  readonly notice: Notice | undefined;
  readonly reach: Reach;
  readonly scopeWords: ScopeWords;
}

/** What the person has just done. */
export const noticeKinds = ['stopped', 'paused', 'resumed'] as const;
export type Notice = Flash<(typeof noticeKinds)[number]>;

/** How soon a stop takes effect where tool servers do not ask the service. */
export interface Reach {
  /** Seconds: the longest life of a token. */
  readonly tokenTtl: number;
  /** Seconds until a tool server with its default settings refuses the task. `undefined` without status lists. */
  readonly statusLists: number | undefined;
}

export const languages = ['en', 'de'] as const;
export type Language = (typeof languages)[number];

/** The operator's sentence for a scope: one for all languages, or one for each. */
export type ScopeWords = ReadonlyMap<string, string | Readonly<Partial<Record<Language, string>>>>;
