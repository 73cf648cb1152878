/**
 * Lines on their way to a stream: those of one turn of the event loop leave in one write, and nobody waits for them.
 */

import { Writable } from 'node:stream';

/**
 * About a minute of a busy service's lines. When whoever reads the stream stands still for longer, the service goes on
 * without its log rather than run out of memory: what was decided is in the ledger.
 */
const MAX_BACKLOG_BYTES = 32 * 1024 * 1024;

/**
 * @param notice the line, without its end, that tells how many lines were lost, once lines leave again
 */
export function batchedLines(destination: Writable, notice: (lost: number) => string): Writable {
  let batch = '';
  let lost = 0;
  // Nobody reads any more (EPIPE): there is nowhere to say so, and no reason to stop serving.
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
    /** Once the destination has taken everything; it stays open, being someone else's. */
    final(done) {
      const lines = take();
      if (destination.writable) destination.write(lines, () => done());
      else done();
    },
  });
}
