/**
 * Writes log lines to a stream. All lines of one turn of the event loop go into one write, and no request waits for it.
 */

import { Writable } from 'node:stream';

/**
 * About a minute of a busy service's lines. If the reader of the stream stops for longer, the service drops log lines
 * instead of running out of memory. The ledger has the decisions.
 */
const MAX_BACKLOG_BYTES = 32 * 1024 * 1024;

/** @param notice formats the line, without its end, with the number of lost lines; written when the reader continues */
export function batchedLines(destination: Writable, notice: (lost: number) => string): Writable {
  let batch = '';
  let lost = 0;
  // The reader is gone (EPIPE): there is no place to report it, and no reason to stop serving.
  destination.on('error', () => {});

  const take = (): string => {
    const lines = batch;
    batch = '';
    return lines;
  };

  const flush = (): void => {
    const lines = take();
    if (lines !== '' && destination.writable) destination.write(lines);
  };

  const add = (line: string): void => {
    if (destination.writableLength + batch.length > MAX_BACKLOG_BYTES) {
      lost += 1;
      return;
    }
    if (batch === '') setImmediate(flush);
    if (lost > 0) batch += `${notice(lost)}\n`;
    lost = 0;
    batch += line;
  };

  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      add(line);
      done();
    },
    /** Resolves when the destination has taken all lines. The destination stays open: the caller owns it. */
    final(done) {
      const lines = take();
      if (destination.writable) destination.write(lines, () => done());
      else done();
    },
  });
}
