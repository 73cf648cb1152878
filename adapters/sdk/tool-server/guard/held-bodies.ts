/**
 * Limits how many bodies the guard holds: at `mcp.path`, and at a route with an approval. A body is held from the check of its
 * token until the upstream has it, or the request is over. An agent gets at most as many permits as remain free, so one agent
 * alone takes half of them.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TaskTokenClaims } from '../core/claims.ts';

export interface HeldBodies {
  /**
   * Takes a permit for the body of this request. It is given back with the response or the connection, or before.
   *
   * @param most of the file that the request is decided by
   * @returns gives the permit back; `undefined` if there is none
   */
  hold(claims: TaskTokenClaims, most: number, request: IncomingMessage, response: ServerResponse): Release | undefined;
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
    hold({ act, sub }, most, { socket }, response) {
      const caller = act?.sub ?? sub;
      if ((byCaller.get(caller) ?? 0) >= most - held) return undefined;
      add(caller, 1);
      let isHeld = true;
      const release = (): void => {
        if (!isHeld) return;
        isHeld = false;
        response.off('close', release);
        socket.off('close', release);
        add(caller, -1);
      };
      // A response that waits for an earlier one of its connection has no event of its own.
      response.on('close', release);
      socket.on('close', release);
      if (response.destroyed || socket.destroyed) release();
      return release;
    },
  };
}
