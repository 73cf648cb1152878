/**
 * Writes events to standard output, and knows whether it takes them. A full disk may have room again later. A pipe whose reader
 * has left never takes another event.
 */

import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { type AccessEvent, eventLine } from '../../adapters/sdk/tool-server/core/access-event.ts';
import type { GuardLog } from './guard-log.ts';

/** The log has the cause, once for all events that follow one another. */
export class EventUnwritten extends Error {}

export interface EventOutput {
  /** Resolves when the system has the event. @throws EventUnwritten */
  write(event: AccessEvent): Promise<void>;
  /** Whether the last event was written. If it was not, tries an empty line: no request may come while the guard is unhealthy. */
  isWritable(): boolean;
  /** Resolves when no later event can be written. */
  readonly closed: Promise<void>;
}

/** @param write writes the whole text, or throws. `isLasting` says of its error whether every later write fails too */
export function eventOutput(log: GuardLog, { write, isLasting } = standardOutput()): EventOutput {
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  let isFailing = false;
  const succeeded = (): void => {
    if (isFailing) log.info('events can be written again');
    isFailing = false;
  };
  const failed = (error: unknown): void => {
    if (!isFailing) log.error('events cannot be written: every request that needs a token is refused', error);
    isFailing = true;
    if (isLasting) close();
  };
  return {
    async write(event) {
      try {
        // An event that was written in part ends here.
        await write(`${isFailing ? '\n' : ''}${eventLine(event)}\n`);
      } catch (error) {
        failed(error);
        throw new EventUnwritten('The event was not written.');
      }
      succeeded();
    },
    isWritable() {
      if (!isFailing || isLasting) return !isFailing;
      try {
        void write('\n');
        succeeded();
      } catch {}
      return !isFailing;
    },
    closed,
  };
}

interface Output {
  /** Writes the whole text. Throws or rejects if it cannot. */
  readonly write: (text: string) => void | Promise<void>;
  /** Whether a write that has failed means that every later one fails too. */
  readonly isLasting: boolean;
}

function standardOutput(): Output {
  const { stdout } = process;
  return stdout instanceof Socket
    ? { write: writeToStream, isLasting: true }
    : { write: writeToFile, isLasting: false };
}

/** To a pipe, a socket or a terminal. */
function writeToStream(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });
}

/** Of a disk that is almost full, a file takes a part. Node's stream would count that as written. */
function writeToFile(text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(process.stdout.fd, bytes, at);
}
