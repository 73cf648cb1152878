/**
 * Limits the bodies that are held in memory: by the adapter for MCP, and by the guard at `mcp.path` and at routes whose body decides.
 * A body takes a permit after the check of its token. It keeps the permit until the server has the body, or the request ends. An agent may hold no more permits
 * than remain free, so one agent alone gets half of them. The same holds for the agents of one control plane together, where
 * there are several: a body waits for the answer of its control plane, and one that is away must not block the others.
 */

import type { ServerResponse } from 'node:http';
import type { TaskTokenClaims } from './claims.ts';
import type { ToolServer } from './tool-server.ts';

export const DEFAULT_MAX_HELD_BODIES = 100;
export const MAX_HELD_BODIES = 10_000;

export interface HeldBodies {
  /**
   * Takes a permit for the body of a request. The end of the response or of the connection releases it.
   *
   * @param limits those under which the request is decided
   * @returns releases the permit earlier; `undefined` if no permit is free
   */
  hold(claims: TaskTokenClaims, limits: Limits, response: ServerResponse): Release | undefined;
}

interface Limits extends Pick<ToolServer, 'issuers'> {
  readonly maxHeldBodies: number;
}

export type Release = () => void;

export function heldBodies(): HeldBodies {
  const byHolder = new Map<string, number>();
  let held = 0;
  const add = (holders: readonly string[], more: 1 | -1): void => {
    held += more;
    for (const holder of holders) {
      const count = (byHolder.get(holder) ?? 0) + more;
      if (count === 0) byHolder.delete(holder);
      else byHolder.set(holder, count);
    }
  };
  return {
    hold(claims, { maxHeldBodies, issuers }, response) {
      const [agent, plane] = holdersOf(claims);
      const holders = [agent, plane];
      const limited = issuers.length > 1 ? holders : [agent];
      if (limited.some((holder) => (byHolder.get(holder) ?? 0) >= maxHeldBodies - held)) return undefined;
      add(holders, 1);
      let isHeld = true;
      const release = (): void => {
        if (!isHeld) return;
        isHeld = false;
        response.off('close', release);
        add(holders, -1);
      };
      response.on('close', release);
      if (response.destroyed) release();
      return release;
    },
  };
}

/** Whose permits are counted: the agent of the control plane, and the control plane. */
function holdersOf({ iss, act, sub }: TaskTokenClaims): readonly [agent: string, plane: string] {
  return [JSON.stringify([iss, act?.sub ?? sub]), JSON.stringify([iss])];
}
