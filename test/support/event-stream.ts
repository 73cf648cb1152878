/** A client of server-sent events, for `GET /audit/stream`. */

import { eventually } from './eventually.ts';

interface Event {
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventStream {
  readonly status: number;
  readonly headers: Headers;
  /** All events so far. */
  readonly events: Event[];
  readonly comments: string[];
  /** Resolves when the server ends the stream, or the connection breaks. */
  readonly ended: Promise<'ended' | 'broken'>;
  /** Waits for this many events. */
  until(count: number): Promise<void>;
  close(): void;
}

export async function openEventStream(url: string, headers: Readonly<Record<string, string>>): Promise<EventStream> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  const events: Event[] = [];
  const comments: string[] = [];
  const read = async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const messages = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = messages.pop() ?? '';
      for (const message of messages) {
        if (message.startsWith(':')) comments.push(message);
        else {
          const fields = Object.fromEntries(
            message.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
          );
          events.push({ id: String(fields.id), event: String(fields.event), data: JSON.parse(String(fields.data)) });
        }
      }
    }
  };
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    ended: read().then(
      () => 'ended',
      () => 'broken',
    ),
    until: (count) => eventually(() => events.length >= count),
    close: () => leaving.abort(),
  };
}
