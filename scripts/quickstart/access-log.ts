/**
 * The access events of the quickstart's tool servers. A real server writes them to its log; the quickstart stores them
 * and shows them as a table: the request, the decision, the person, the agent and the token.
 */

import type { AccessEvent } from '@mandate/tool-server';
import { layOut } from './table.ts';

export interface AccessLog {
  record(event: AccessEvent): void;
  /** Returns and removes the stored events, oldest first. */
  take(): readonly AccessEvent[];
  /** Passes all later events to a listener instead of storing them. */
  follow(listener: (event: AccessEvent) => void): void;
}

export function accessLog(): AccessLog {
  let stored: AccessEvent[] = [];
  let listener = (event: AccessEvent): void => void stored.push(event);
  return {
    record: (event) => listener(event),
    take() {
      const taken = stored;
      stored = [];
      return taken;
    },
    follow(next) {
      listener = next;
    },
  };
}

/** Enough of an identifier's end to distinguish it: identifiers are random there. */
const TAIL_CHARACTERS = 6;

export function accessTable(events: readonly AccessEvent[]): readonly string[] {
  return layOut(
    [
      { title: 'time', width: 8 },
      { title: 'route or tool', width: 30 },
      { title: '', width: 5 },
      { title: 'reason', width: 18 },
      { title: 'person', width: 6 },
      { title: 'agent', width: 10 },
      { title: 'token', width: TAIL_CHARACTERS },
    ],
    events.map(({ at, route, decision, reason, sub, act, jti }) => [
      at.slice(11, 19),
      route ?? '',
      decision,
      reason ?? '',
      sub ?? '',
      // Without the prefix of every agent.
      act?.replace(/^agent:/, '') ?? '',
      jti?.slice(-TAIL_CHARACTERS) ?? '',
    ]),
  );
}
