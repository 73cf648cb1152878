/** Resolves as `work` does, or with `undefined` after `ms` milliseconds; `work` then continues, its result ignored. */
export type TimeLimit = <Answer>(work: Promise<Answer>, ms: number) => Promise<Answer | undefined>;
