/** `GET /audit/stream`: new records as server-sent events (HTML Living Standard, "Server-sent events"). */

import { once } from 'node:events';
import type { Request, Response } from 'express';
import type { Holder, Opened, RecordStream } from '../../../application/ledger/record-stream.ts';
import type { Clock } from '../../../application/ports/runtime.ts';
import { fieldErrors } from '../../../domain/field-error.ts';
import { secondsBetween } from '../../../domain/instant.ts';
import { type LedgerRecord, presentRecord } from '../../../domain/ledger/record.ts';
import type { Operator } from '../../../domain/operators/operator.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { answerRefusal } from '../admission/refusals.ts';
import { singleHeader } from '../message/head.ts';
import { answerInvalid } from '../message/problem-details.ts';
import { parseOrdinal, readQuery } from '../message/query.ts';

export interface StreamSurface {
  readonly stream: RecordStream;
  readonly streamTimes?: StreamTimes;
  readonly clock: Clock;
  /** Records a request that was refused because all slots were taken. */
  refuseFull(trace?: Trace): Promise<void>;
}

interface StreamTimes {
  readonly heartbeatMs: number;
  readonly lifetimeMs: number;
}

const TIMES: StreamTimes = {
  // Proxies close connections that are idle for a minute or less.
  heartbeatMs: 15_000,
  // Then the client connects again, and its credential and role are checked again.
  lifetimeMs: 10 * 60_000,
};

const COMMENT = ':\n\n';

/** The maximum length of data that a client has not read yet. */
const MAX_UNREAD_BYTES = 1024 * 1024;

const LAST_EVENT_ID = 'Last-Event-ID';

/**
 * The last event of a stream whose slot a later one has taken. A client that does not know this event waits before it
 * reconnects.
 */
const DISPLACED = 'event: displaced\nretry: 60000\ndata: {}\n\n';

export function holderOf(surface: Holder['surface'], operator: Operator | undefined): Holder {
  return { surface, person: operator?.kind === 'person' ? `${operator.issuer} ${operator.subject}` : undefined };
}

interface StreamOptions {
  readonly holder: Holder;
  /** Whether the credential still lasts. It is asked at each heartbeat; without it the stream ends. */
  lasts(): Promise<boolean>;
  /** So many of the newest records come first if the client has none. */
  readonly more?: number;
}

export async function streamRecords(
  surface: StreamSurface,
  request: Request,
  response: Response,
  { holder, lasts, more }: StreamOptions = { holder: holderOf('api', request.operator), lasts: async () => true },
): Promise<void> {
  const { errors } = readQuery(request.originalUrl, []);
  if (errors.length > 0) return answerInvalid(response, errors);
  const header = singleHeader(request, LAST_EVENT_ID);
  const after = header.kind === 'present' ? parseOrdinal(header.value) : undefined;
  if (after === undefined && header.kind !== 'absent') {
    return answerInvalid(response, fieldErrors(LAST_EVENT_ID, 'Must be the id of one event of this stream.'));
  }
  if (request.method === 'HEAD') return void response.type('text/event-stream').end();
  // Clients that stay connected must not use up the permits of other requests.
  request.permit?.release();
  const opened = await surface.stream.open(after, holder, more);
  switch (opened.kind) {
    case 'full':
      await surface.refuseFull(request.trace);
      return answerRefusal(request, response, 'admin', 'overloaded');
    case 'unknown_record':
      return answerInvalid(response, fieldErrors(LAST_EVENT_ID, 'No record of this ledger has this number yet.'));
    case 'opened':
      return send(opened.feed, timesOf(surface, request.operator), response, lasts);
  }
}

/** The stream ends when the access token does: a person without a valid token gets no more records. */
function timesOf({ streamTimes = TIMES, clock }: StreamSurface, operator: Operator | undefined): StreamTimes {
  const expiresAt = operator?.kind === 'person' ? operator.expiresAt : undefined;
  if (expiresAt === undefined) return streamTimes;
  const leftMs = secondsBetween(clock.now(), expiresAt) * 1000;
  return { ...streamTimes, lifetimeMs: Math.max(0, Math.min(streamTimes.lifetimeMs, leftMs)) };
}

type Feed = Extract<Opened, { readonly kind: 'opened' }>['feed'];

async function send(
  feed: Feed,
  { heartbeatMs, lifetimeMs }: StreamTimes,
  response: Response,
  lasts: () => Promise<boolean>,
): Promise<void> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  response.once('close', leave);
  if (response.destroyed) leave();
  response.streamsSince = performance.now();
  // The next connection may go to another replica, and a proxy must not wait for more records before it sends one.
  response.set({ 'Content-Type': 'text/event-stream', Connection: 'close', 'X-Accel-Buffering': 'no' });
  response.write(COMMENT);
  const heartbeat = setInterval(async () => {
    response.write(COMMENT);
    // A database that does not answer ends no stream.
    if (!(await lasts().catch(() => true))) leave();
  }, heartbeatMs);
  const lifetime = setTimeout(leave, lifetimeMs);
  try {
    await feed({
      gone: gone.signal,
      take(records) {
        response.write(records.map(eventOf).join(''));
        if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
      },
      displaced() {
        response.write(DISPLACED);
        leave();
      },
      async drained() {
        if (response.writableNeedDrain) await once(response, 'drain', { signal: gone.signal }).catch(() => undefined);
      },
    });
  } finally {
    clearInterval(heartbeat);
    clearTimeout(lifetime);
    response.end();
  }
}

/** All listeners get the same text. */
const texts = new WeakMap<LedgerRecord, string>();

function eventOf(record: LedgerRecord): string {
  const text =
    texts.get(record) ?? `id: ${record.seq}\nevent: record\ndata: ${JSON.stringify(presentRecord(record))}\n\n`;
  texts.set(record, text);
  return text;
}
