/** The operations of a random history of hand-overs, and the agents that take part. */

import fc from 'fast-check';

export const LIMITS = { maxDepth: 4, maxChildren: 2 };
export const SCOPES = ['jira:read', 'jira:comment', 'jira:admin'];
export const PEOPLE = 2;
/** The registrations, and to which of them each may hand work over. The last may be below itself. */
export const AGENTS = [
  { allowed_scopes: SCOPES, max_task_ttl: 'PT20M', max_delegation_depth: 5, to: [1, 2, 3] },
  { allowed_scopes: SCOPES.slice(0, 2), max_task_ttl: 'PT30M', max_delegation_depth: 5, to: [2, 3, 0] },
  { allowed_scopes: SCOPES.slice(1), max_task_ttl: 'PT5M', max_delegation_depth: 3, to: [3] },
  { allowed_scopes: SCOPES, max_task_ttl: 'PT15M', max_delegation_depth: 5, to: [3] },
];

type OnTask = 'revoke_grant' | 'kill_task';
export type OnAgent = 'kill_agent' | 'disable' | 'enable';
export type OnPerson = 'kill_person' | 'block' | 'lift';
/** A number picks one of the tasks, offers, agents or people. `scopes` and `names` are masks. `child` picks one whom the agent may name, mostly. */
export type Step =
  | { readonly kind: 'start'; readonly agent: number; readonly person: number }
  | { readonly kind: 'offer' | 'hand_over'; readonly which: number; readonly child: number; readonly scopes: number }
  | { readonly kind: 'take' | 'narrow'; readonly which: number; readonly scopes: number }
  | { readonly kind: 'renew' | OnTask; readonly which: number }
  | { readonly kind: OnAgent; readonly agent: number }
  | { readonly kind: 'register'; readonly agent: number; readonly names: number; readonly scopes: number }
  | { readonly kind: OnPerson; readonly person: number }
  | { readonly kind: 'refuse' | 'allow'; readonly agent: number; readonly person: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'sweep' };

const which = fc.nat(1000);
const agent = fc.nat(AGENTS.length - 1);
const person = fc.nat(PEOPLE - 1);
/** Some above the number of agents that one may name. */
const child = fc.nat(9);
const scopes = fc.constantFrom(1, 2, 3, 3, 7, 7, 7);
const steps = <Kind extends string, Rest extends object>(
  weight: number,
  kinds: readonly Kind[],
  rest: { readonly [Name in keyof Rest]: fc.Arbitrary<Rest[Name]> },
) => ({ weight, arbitrary: fc.record({ kind: fc.constantFrom(...kinds), ...rest }) as unknown as fc.Arbitrary<Step> });
const step: fc.Arbitrary<Step> = fc.oneof(
  steps(5, ['start'], { agent, person }),
  steps(24, ['hand_over'], { which, child, scopes }),
  steps(6, ['offer'], { which, child, scopes }),
  steps(6, ['take'], { which, scopes }),
  steps(3, ['narrow'], { which, scopes }),
  steps(10, ['renew'], { which }),
  steps(2, ['revoke_grant', 'kill_task'], { which }),
  steps(1, ['kill_agent'], { agent }),
  steps(2, ['disable'], { agent }),
  // Most registrations are whole again.
  steps(5, ['register'], {
    agent,
    names: fc.constantFrom(0, 1, 6, 7, 7, 7, 7),
    scopes: fc.constantFrom(1, 6, 7, 7, 7),
  }),
  steps(5, ['enable'], { agent }),
  steps(1, ['kill_person', 'block'], { person }),
  steps(3, ['lift'], { person }),
  steps(1, ['refuse'], { agent, person }),
  steps(2, ['allow'], { agent, person }),
  // Offers live for sixty seconds, and the shortest task for three hundred.
  steps(3, ['wait'], { seconds: fc.constantFrom(17, 43, 131, 331) }),
  steps(1, ['sweep'], {}),
);

/** A history: each step, and whether the second replica executes it. */
export const history = fc.array(fc.tuple(step, fc.boolean()), { minLength: 40, maxLength: 80, size: 'max' });
