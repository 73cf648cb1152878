/**
 * Writes the quickstart's output, as wide as the terminal. Colours appear only on a terminal that supports them: not with
 * `NO_COLOR` (https://no-color.org), and not on `TERM=dumb`.
 */

import { fill } from '../../adapters/cli/fill.ts';
import { layOut, type Table } from './table.ts';

export interface Terminal {
  /** Prints a numbered heading. */
  chapter(title: string): void;
  say(...sentences: readonly string[]): void;
  show(table: Table): void;
  /** Prints a command to copy, always on one line. */
  command(line: string): void;
  /** Prints a result that was just checked. */
  confirm(sentence: string): void;
  /** Prints a refusal that was expected. */
  refused(sentence: string): void;
  /** Prints an error to standard error, and then `details` unchanged. */
  fail(sentence: string, details?: string): void;
}

/** The width elsewhere than on a terminal, and the most on one. */
const MOST_COLUMNS = 100;
const INDENT = '  ';

const BOLD = '1';
const DIM = '2';
const RED = '31';
const GREEN = '32';
const YELLOW = '33';

export function terminal(out: NodeJS.WriteStream = process.stdout, err: NodeJS.WriteStream = process.stderr): Terminal {
  const { NO_COLOR, TERM } = process.env;
  const coloured = (stream: NodeJS.WriteStream) => stream.isTTY === true && !NO_COLOR && TERM !== 'dumb';
  // Read for each line: the user may resize the window. Some terminals report 0.
  const width = () => Math.min(out.columns || MOST_COLUMNS, MOST_COLUMNS);
  // A terminal that is gone loses its lines. The end of the run is caused by SIGHUP.
  for (const stream of [out, err]) stream.on('error', () => undefined);
  const paint = (code: string, text: string) => (coloured(out) ? `\u001b[${code}m${text}\u001b[0m` : text);
  const print = (line: string) => out.write(`${line}\n`);
  let chapters = 0;
  return {
    chapter(title) {
      chapters += 1;
      const heading = `${chapters}. ${title}`;
      print('');
      const lines = fill(heading, width());
      for (const line of lines) print(paint(BOLD, line));
      print(paint(DIM, '-'.repeat(Math.max(...lines.map((line) => line.length)))));
    },
    say(...sentences) {
      for (const line of fill(sentences.join(' '), width())) {
        print(line);
      }
    },
    show(table) {
      print('');
      const lines = layOut(table, width() - INDENT.length);
      const titles = isRule(lines[1] ?? '') ? 2 : 0;
      for (const [index, line] of lines.entries()) {
        print(INDENT + (index < titles ? paint(index === 0 ? BOLD : DIM, line) : line));
      }
      print('');
    },
    command: (line) => void print(`${INDENT}${line}`),
    confirm: (sentence) => mark(GREEN, 'yes', sentence),
    refused: (sentence) => mark(YELLOW, 'no', sentence),
    fail(sentence, details) {
      err.write(`\n${coloured(err) ? `\u001b[${RED}m${sentence}\u001b[0m` : sentence}\n`);
      if (details !== undefined) {
        err.write(`${details}\n`);
      }
    },
  };

  function mark(colour: string, word: string, sentence: string): void {
    const [first = '', ...rest] = fill(sentence, width() - 7);
    print(`${INDENT}${paint(colour, word.padEnd(3))}  ${first}`);
    for (const line of rest) {
      print(`       ${line}`);
    }
  }
}

/** The second line of a table. On a narrow terminal it has none. */
function isRule(line: string): boolean {
  return /^-[- ]*$/.test(line);
}
