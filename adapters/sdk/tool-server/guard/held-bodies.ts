/**
 * Limits the bodies that the guard holds in memory, at `mcp.path` and at routes with an approval. A body takes a permit after the
 * check of its token. It keeps the permit until the upstream has the body, or the request ends. An agent may hold no more permits
 * than remain free, so one agent alone gets half of them.
 */

import type { ServerResponse } from 'node:http';
import type { TaskTokenClaims } from '../core/claims.ts';

export interface HeldBodies {
  /**
   * Takes a permit for the body of a request. The end of the response or of the connection releases it.
   *
   * @param most `max_held_bodies` of the file under which the request is decided
   * @returns releases the permit earlier; `undefined` if no permit is free
   */
  hold(claims: TaskTokenClaims, most: number, response: ServerResponse): Release | undefined;
}

export type Release = () => void;

export function heldBodies(): HeldBodies {
  const byCaller = new Map<string, number>();
  let held = 0;
  const add = (caller: string, more: 1 | -1): void => {
    held += more;
    const count = (byCaller.get(caller) ?? 0) + more;
    if (count === 0) byCaller.delete(caller);
    else byCaller.set(caller, count);
  };
  return {
    hold({ act, sub }, most, response) {
      const caller = act?.sub ?? sub;
      if ((byCaller.get(caller) ?? 0) >= most - held) return undefined;
      add(caller, 1);
      let isHeld = true;
      const release = (): void => {
        if (!isHeld) return;
        isHeld = false;
        response.off('close', release);
        add(caller, -1);
      };
      response.on('close', release);
      if (response.destroyed) release();
      return release;
    },
  };
}
