/** The access events of the story's tool servers: where a service would write them to its log, they are kept to be shown. */

import type { AccessEvent } from 'mandate/tool-server';

export interface AccessLog {
  tell(event: AccessEvent): void;
  /** Those that nobody has taken yet, oldest first. */
  take(): readonly AccessEvent[];
  /** From now on events are not kept, but handed on. */
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
