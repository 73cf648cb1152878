/**
 * How many connections each source has. All of them together are limited by what a process can hold, and one source that
 * took them all would lock everybody out without ever sending a request.
 */

import type { Socket } from 'node:net';

export interface SourceConnections {
  /** At once. */
  readonly most: number;
  /** `undefined` for a peer that asks on behalf of others: one of our own proxies. */
  sourceOf(peer: string): string | undefined;
}

export interface ConnectionCounts {
  /** Counts one more; `undefined` where its source has as many as it may, else what takes it back. */
  add(connection: Socket): (() => void) | undefined;
}

export function connectionCounts({ most, sourceOf }: SourceConnections): ConnectionCounts {
  const counts = new Map<string, number>();
  return {
    add(connection) {
      const source = connection.remoteAddress === undefined ? undefined : sourceOf(connection.remoteAddress);
      if (source === undefined) return () => undefined;
      const count = counts.get(source) ?? 0;
      if (count >= most) return undefined;
      counts.set(source, count + 1);
      return () => {
        const left = (counts.get(source) ?? 1) - 1;
        if (left === 0) counts.delete(source);
        else counts.set(source, left);
      };
    },
  };
}
