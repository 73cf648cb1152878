/**
 * The access events of the story's tool servers. A real server writes them to its log; here they are stored and shown.
 */

import type { AccessEvent } from 'mandate/tool-server';

export interface AccessLog {
  tell(event: AccessEvent): void;
  /** Returns and removes the stored events, oldest first. */
  take(): readonly AccessEvent[];
  /** Passes all later events to a listener instead of storing them. */
  follow(listener: (event: AccessEvent) => void): void;
}

export function accessLog(): AccessLog {
  let kept: AccessEvent[] = [];
  let listener = (event: AccessEvent): void => void kept.push(event);
  return {
    tell: (event) => listener(event),
    take() {
      const taken = kept;
      kept = [];
      return taken;
    },
    follow(next) {
      listener = next;
    },
  };
}
