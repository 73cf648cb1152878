/** Passes text on in whole lines only, so that several sources can share one stream without breaking each other's. */

import { Transform } from 'node:stream';

const LINE_FEED = 0x0a;

export function wholeLines(): Transform {
  let beginnings: Buffer[] = [];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = chunk.lastIndexOf(LINE_FEED) + 1;
      if (end > 0) {
        this.push(Buffer.concat([...beginnings, chunk.subarray(0, end)]));
        beginnings = [];
      }
      if (end < chunk.length) beginnings.push(chunk.subarray(end));
      done();
    },
    /** What was said last by somebody who did not come to the end of the line. */
    flush(done) {
      if (beginnings.length > 0) this.push(Buffer.concat([...beginnings, Buffer.of(LINE_FEED)]));
      done();
    },
  });
}
