/** Plain-text tables that fit a terminal. Cells wrap at spaces. A word that is too long is cut. */

export interface Column {
  readonly title: string;
  /** The maximum width of a cell in characters. Longer text wraps. */
  readonly width: number;
}

const GAP = '  ';

/** Returns the lines: titles, a rule, and the rows. A column is as wide as its longest line. */
export function layOut(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = columns.map(({ title, width }, index) => {
    const cells = [title, ...rows.map((row) => row[index] ?? '')];
    return Math.max(...cells.flatMap((cell) => wrap(cell, width)).map((line) => line.length));
  });
  const titles = columns.map(({ title }) => title);
  const rule = widths.map((width) => '-'.repeat(width));
  return [titles, rule, ...rows].flatMap((row) => layOutRow(row, widths));
}

function layOutRow(row: readonly string[], widths: readonly number[]): readonly string[] {
  const cells = widths.map((width, index) => wrap(row[index] ?? '', width));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, index) => (lines[line] ?? '').padEnd(widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((part) => cut(part, width))) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

function cut(word: string, width: number): readonly string[] {
  return word.length <= width ? [word] : [word.slice(0, width), ...cut(word.slice(width), width)];
}
