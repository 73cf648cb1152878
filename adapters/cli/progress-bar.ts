/** A progress bar on a terminal. Shows nothing elsewhere, for example in a pipe. */

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

interface ProgressBar {
  show(done: number, total: number): void;
  /** Clears the line before other output. */
  clear(): void;
}

/** Frequent enough to show motion, and cheap. */
const REDRAW_MS = 100;
const WIDEST = 60;
/** The columns for `100 % ` and a margin. The line must never wrap. */
const BESIDE_BAR = 9;
/** Moves to the first column and erases the line. */
const CLEAR_LINE = '\r\u001b[K';

/** @param now in milliseconds */
export function progressBar(terminal: Terminal, now: () => number): ProgressBar {
  if (terminal.isTTY !== true) return { show: () => undefined, clear: () => undefined };
  const width = Math.max(1, Math.min(WIDEST, widthOf(terminal) - BESIDE_BAR));
  let drawnAt = Number.NEGATIVE_INFINITY;
  let shown = false;
  return {
    show(done, total) {
      if (total <= 0 || now() - drawnAt < REDRAW_MS) return;
      drawnAt = now();
      shown = true;
      const share = Math.min(1, done / total);
      const filled = Math.floor(share * width);
      const percent = String(Math.floor(share * 100)).padStart(3);
      terminal.write(`${CLEAR_LINE}${percent} % ${'█'.repeat(filled)}${'░'.repeat(width - filled)}`);
    },
    clear() {
      if (shown) terminal.write(CLEAR_LINE);
      shown = false;
    },
  };
}

/** The terminal's width. Some terminals report none, or 0. */
function widthOf({ columns = 0 }: Terminal): number {
  return columns > 0 ? columns : WIDEST;
}
