/** Splits a stream of server-sent events (HTML, "Server-sent events") into events, byte for byte. */

interface EventSplitter {
  /** @returns the whole events, each with the blank line at its end */
  take(chunk: Buffer): Buffer[];
  /** The bytes of the incomplete event. */
  held(): number;
  /** Returns the bytes of the incomplete event, and holds them no longer. `take` returns the rest of it as the next event. */
  release(): Buffer;
}

const [LF, CR] = [0x0a, 0x0d];

export function eventSplitter(): EventSplitter {
  let begun: Buffer[] = [];
  let length = 0;
  let isLineEmpty = true;
  let isAfterCr = false;

  const taken = (): Buffer => {
    const event = Buffer.concat(begun);
    begun = [];
    length = 0;
    return event;
  };
  const hold = (piece: Buffer): void => {
    if (piece.length === 0) return;
    begun.push(piece);
    length += piece.length;
  };

  return {
    take(chunk) {
      const events: Buffer[] = [];
      let start = 0;
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at];
        // A line ends with LF, CR, or both.
        const isSecond = byte === LF && isAfterCr;
        isAfterCr = byte === CR;
        if (isSecond) continue;
        if (byte !== LF && byte !== CR) {
          isLineEmpty = false;
          continue;
        }
        if (isLineEmpty) {
          hold(chunk.subarray(start, at + 1));
          events.push(taken());
          start = at + 1;
        }
        isLineEmpty = true;
      }
      hold(chunk.subarray(start));
      return events;
    },
    held: () => length,
    release: taken,
  };
}
