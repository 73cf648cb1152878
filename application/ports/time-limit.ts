/** Resolves as `work` does, or with `undefined` once so many milliseconds have passed; what goes on then has nobody. */
export type TimeLimit = <Answer>(work: Promise<Answer>, ms: number) => Promise<Answer | undefined>;
