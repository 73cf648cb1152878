/**
 * Keeps the access events of the quickstart's tool servers. A real server writes them to its log. The quickstart shows
 * them as a table: time, route or tool, decision, reason, person, agent and token.
 */

import type { AccessEvent } from '@mandate/tool-server';
import type { Table } from './table.ts';

export interface AccessLog {
  record(event: AccessEvent): void;
  /** Returns the kept events, oldest first, and removes them. */
  take(): readonly AccessEvent[];
  /** Passes later events to a listener instead of keeping them. */
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

/** The last characters of an identifier are random, so these suffice to distinguish it. */
const TAIL_CHARACTERS = 6;

export function accessTable(events: readonly AccessEvent[]): Table {
  return {
    columns: [
      { title: 'time', width: 8 },
      { title: 'route or tool', width: 30 },
      { title: '', width: 5 },
      { title: 'reason', width: 18 },
      { title: 'person', width: 6 },
      { title: 'agent', width: 10 },
      { title: 'token', width: TAIL_CHARACTERS },
    ],
    rows: events.map(({ at, route, decision, reason, sub, act, jti }) => [
      at.slice(11, 19),
      route ?? '',
      decision,
      reason ?? '',
      sub ?? '',
      // Without the prefix that all agents have.
      act?.replace(/^agent:/, '') ?? '',
      jti?.slice(-TAIL_CHARACTERS) ?? '',
    ]),
  };
}
