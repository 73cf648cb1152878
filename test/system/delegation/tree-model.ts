/** A model of trees of tasks: what a task, an offer and a token may be at any time (docs/sub-agents.md). */

import { decodeJwt } from 'jose';

export interface ModelAgent {
  readonly id: string;
  /** As registered now. */
  delegatesTo: readonly string[];
  allowedScopes: readonly string[];
  readonly maxDepth: number;
}

export interface ModelTask {
  readonly taskId: string;
  readonly agent: ModelAgent;
  readonly person: string;
  readonly parent: ModelTask | undefined;
  readonly grant: string;
  /** In seconds since the epoch. */
  readonly expiresAt: number;
  /** That of the last token. */
  scope: readonly string[];
  token: string;
  /** The reason of its end, unless its time was up. */
  end: string | undefined;
}

export interface ModelOffer {
  readonly jwt: string;
  readonly parent: ModelTask;
  readonly child: ModelAgent;
  readonly scope: readonly string[];
  /** In seconds since the epoch. */
  readonly expiresAt: number;
  isSpent: boolean;
}

interface Limits {
  readonly maxDepth: number;
  readonly maxChildren: number;
}

/** No token is issued if the task ends sooner than this. */
const ENDING_SECONDS = 5;

export const chainOf = (task: ModelTask | undefined): readonly ModelTask[] =>
  task === undefined ? [] : [task, ...chainOf(task.parent)];
const common = (one: readonly string[], other: readonly string[]) => one.filter((scope) => other.includes(scope));

/** Each method takes the time in seconds since the epoch. */
export function treeModel(limits: Limits) {
  const tasks: ModelTask[] = [];
  const [blocked, disabled, refusing] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const isLive = (task: ModelTask, now: number) => task.end === undefined && task.expiresAt > now;
  const below = (root: ModelTask) => tasks.filter((task) => chainOf(task).includes(root));

  /** Whether these agents may stand in one chain, the nearest first. */
  function isAllowedChain(agents: readonly ModelAgent[]): boolean {
    const isNamed = agents.every(({ id }, nth) => agents[nth + 1]?.delegatesTo.includes(id) ?? true);
    const runs = agents.filter(({ id }, nth) => id !== agents[nth - 1]?.id).map(({ id }) => id);
    const deepest = Math.min(limits.maxDepth, ...agents.map(({ maxDepth }) => maxDepth));
    return isNamed && new Set(runs).size === runs.length && agents.length <= deepest;
  }

  /** What a task of this agent under these may have of the scope now; `undefined` if nothing may be issued. */
  function usable(agent: ModelAgent, above: readonly ModelTask[], scope: readonly string[], now: number) {
    const agents = [agent, ...above.map((task) => task.agent)];
    const isHeld = above.every((task) => isLive(task, now)) && !agents.some(({ id }) => disabled.has(id));
    if (!isHeld || !isAllowedChain(agents)) return undefined;
    const left = [agent.allowedScopes, ...above.flatMap((task) => [task.scope, task.agent.allowedScopes])];
    const granted = left.reduce(common, scope);
    return granted.length === 0 ? undefined : granted;
  }

  const places = (parent: ModelTask, now: number) =>
    limits.maxChildren - tasks.filter((task) => task.parent === parent && isLive(task, now)).length;

  const isRenewable = (task: ModelTask, now: number) =>
    isLive(task, now) && task.expiresAt - now >= ENDING_SECONDS && !blocked.has(task.person);

  return {
    tasks,
    blocked,
    disabled,
    /** `<person> <agent>`: whose handing-over the person refuses. */
    refusing,
    isLive,
    below,

    canStart: (agent: ModelAgent, person: string) => !disabled.has(agent.id) && !blocked.has(person),

    renewed(task: ModelTask, asked: readonly string[], now: number): readonly string[] | undefined {
      if (!isRenewable(task, now) || asked.some((scope) => !task.scope.includes(scope))) return undefined;
      return usable(task.agent, chainOf(task.parent), asked, now);
    },

    offered(task: ModelTask, child: ModelAgent, asked: readonly string[], now: number): readonly string[] | undefined {
      const isAsked = isRenewable(task, now) && asked.every((scope) => task.scope.includes(scope));
      if (!isAsked || refusing.has(`${task.person} ${task.agent.id}`) || places(task, now) <= 0) return undefined;
      const scope = usable(task.agent, chainOf(task.parent), asked, now);
      const agents = [child, ...chainOf(task).map(({ agent }) => agent)];
      const isOfUse = scope !== undefined && common(scope, child.allowedScopes).length > 0;
      return isOfUse && isAllowedChain(agents) ? scope : undefined;
    },

    taken(offer: ModelOffer, asked: readonly string[], now: number): readonly string[] | undefined {
      const { parent, child } = offer;
      const isUsable = !offer.isSpent && offer.expiresAt > now && parent.expiresAt - now >= ENDING_SECONDS;
      if (!isUsable || blocked.has(parent.person) || refusing.has(`${parent.person} ${parent.agent.id}`)) {
        return undefined;
      }
      return places(parent, now) > 0 ? usable(child, chainOf(parent), common(offer.scope, asked), now) : undefined;
    },

    /** Ends these tasks and those below, with the reason that each record has. @returns how many were live */
    ended(selected: readonly ModelTask[], reason: string, now: number): number {
      const ending = tasks.filter((task) => isLive(task, now) && chainOf(task).some((one) => selected.includes(one)));
      for (const task of ending) task.end = selected.includes(task) ? reason : 'parent_revoked';
      return ending.length;
    },

    isActive(task: ModelTask, now: number): boolean {
      const chain = chainOf(task);
      const expiresAt = decodeJwt(task.token).exp ?? 0;
      return expiresAt > now && chain.every((one) => isLive(one, now) && !disabled.has(one.agent.id));
    },
  };
}
