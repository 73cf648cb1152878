/** How long an agent's tasks and tokens live, in seconds (specification "Agent registration", rule 4; "Lifetimes"). */

/** The operator's settings. At start, the service refuses a minimum above its maximum, and a default outside the two. */
export interface LifetimeRules {
  readonly defaultTaskTtl: number;
  readonly defaultTokenTtl: number;
  readonly minTaskTtl: number;
  readonly maxTaskTtl: number;
  readonly minTokenTtl: number;
  readonly maxTokenTtl: number;
}

/** The lifetimes in a registration; `undefined` means the default. */
interface NamedLifetimes {
  readonly maxTaskTtl: number | undefined;
  readonly maxTokenTtl: number | undefined;
}

export interface Lifetimes {
  readonly maxTaskTtl: number;
  readonly maxTokenTtl: number;
}

/** A given lifetime outside its bounds, or a token lifetime longer than the task's. */
export type LifetimeProblem =
  | { readonly lifetime: keyof Lifetimes; readonly fault: 'out_of_bounds'; readonly min: number; readonly max: number }
  | { readonly lifetime: 'maxTokenTtl'; readonly fault: 'longer_than_task' };

type ResolvedLifetimes =
  | { readonly kind: 'resolved'; readonly lifetimes: Lifetimes }
  | { readonly kind: 'refused'; readonly problems: readonly LifetimeProblem[] };

/**
 * A default never overrides a given lifetime. The default of the token lifetime is cut to the task's lifetime. The
 * default of the task lifetime is raised to the token's.
 */
export function resolveLifetimes(named: NamedLifetimes, rules: LifetimeRules): ResolvedLifetimes {
  const maxTaskTtl =
    named.maxTaskTtl ?? Math.min(Math.max(rules.defaultTaskTtl, named.maxTokenTtl ?? 0), rules.maxTaskTtl);
  const maxTokenTtl = named.maxTokenTtl ?? Math.min(rules.defaultTokenTtl, maxTaskTtl);
  const problems: readonly LifetimeProblem[] = [
    ...outOfBounds('maxTaskTtl', named.maxTaskTtl, rules.minTaskTtl, rules.maxTaskTtl),
    ...outOfBounds('maxTokenTtl', named.maxTokenTtl, rules.minTokenTtl, rules.maxTokenTtl),
    // Rule 5: no token outlives its task.
    ...(maxTokenTtl > maxTaskTtl ? [{ lifetime: 'maxTokenTtl', fault: 'longer_than_task' } as const] : []),
  ];
  if (problems.length > 0) return { kind: 'refused', problems };
  return { kind: 'resolved', lifetimes: { maxTaskTtl, maxTokenTtl } };
}

function outOfBounds(
  lifetime: keyof Lifetimes,
  seconds: number | undefined,
  min: number,
  max: number,
): readonly LifetimeProblem[] {
  if (seconds === undefined || (Number.isSafeInteger(seconds) && seconds >= min && seconds <= max)) return [];
  return [{ lifetime, fault: 'out_of_bounds', min, max }];
}
