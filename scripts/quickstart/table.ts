/** Plain-text tables that fit a terminal. Cells wrap at spaces. A word that is too long is cut. */

import { fill } from '../../adapters/cli/fill.ts';

interface Column {
  readonly title: string;
  /** The maximum width of a cell in characters. Longer text wraps. */
  readonly width: number;
}

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

const GAP = '  ';
/** A column that is narrower than this cuts most words: then each row is a separate list. */
const NARROWEST = 10;

/**
 * @param width of the terminal, without the indentation
 * @returns the lines: titles, a rule, and the rows. A column is as wide as its longest line. On a narrow terminal each row
 *   becomes a list of titles and cells, with an empty line between rows
 */
export function layOut({ columns, rows }: Table, width: number): readonly string[] {
  const lines = columns.map((column, index) => {
    const cells = [column.title, ...rows.map((row) => row[index] ?? '')];
    return cells.flatMap((cell) => wrap(cell, column.width));
  });
  const words = lines.map((ofColumn) => longest(ofColumn.flatMap((line) => line.split(' '))));
  const widths = shrunk(lines.map(longest), words, width);
  if (widths === undefined) return rows.flatMap((row) => listOf(columns, row, width));
  const titles = columns.map(({ title }) => title);
  const rule = widths.map((each) => '-'.repeat(each));
  return [titles, rule, ...rows].flatMap((row) => layOutRow(row, widths));
}

function longest(texts: readonly string[]): number {
  return Math.max(...texts.map((text) => text.length));
}

/**
 * Takes characters from the widest column until all fit; `undefined` if that makes one too narrow. As long as a column is
 * wider than its longest word, only such columns shrink: so a word is cut only if it must be.
 */
function shrunk(natural: readonly number[], words: readonly number[], width: number): readonly number[] | undefined {
  const widths = [...natural];
  const room = width - GAP.length * (widths.length - 1);
  for (let total = widths.reduce((sum, each) => sum + each, 0); total > room; total -= 1) {
    if (Math.max(...widths) <= NARROWEST) return undefined;
    const loose = widths.map((each, index) => (each > (words[index] ?? 0) ? each : 0));
    const from = Math.max(...loose) > 0 ? loose : widths;
    const column = from.indexOf(Math.max(...from));
    widths[column] = (widths[column] ?? 0) - 1;
  }
  return widths;
}

/** Cells without text are left out. */
function listOf(columns: readonly Column[], row: readonly string[], width: number): readonly string[] {
  const lines = row.flatMap((cell, index) => {
    const title = columns[index]?.title ?? '';
    return cell === '' ? [] : wrap(title === '' ? cell : `${title}: ${cell}`, width);
  });
  return [...lines, ''];
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
  const words = text.split(' ').flatMap((word) => cut(word, width));
  return fill(words.join(' '), width);
}

function cut(word: string, width: number): readonly string[] {
  return word.length <= width ? [word] : [word.slice(0, width), ...cut(word.slice(width), width)];
}
