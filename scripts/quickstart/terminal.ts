/** Writes the quickstart's output. Colours appear only on a terminal that supports them. */

export interface Terminal {
  /** Prints a numbered heading. */
  chapter(title: string): void;
  say(...sentences: readonly string[]): void;
  show(lines: readonly string[]): void;
  /** Prints a command to copy, always on one line. */
  command(line: string): void;
  /** Prints a result that was just checked. */
  confirm(sentence: string): void;
  /** Prints a refusal that was expected. */
  refused(sentence: string): void;
  /** Prints an error to standard error, and then `details` unchanged. */
  fail(sentence: string, details?: string): void;
}

const WIDTH = 100;
const INDENT = '  ';

const BOLD = '1';
const DIM = '2';
const RED = '31';
const GREEN = '32';
const YELLOW = '33';

export function terminal(out: NodeJS.WriteStream = process.stdout, err: NodeJS.WriteStream = process.stderr): Terminal {
  const coloured = (stream: NodeJS.WriteStream) => stream.isTTY === true && !process.env.NO_COLOR;
  const paint = (code: string, text: string) => (coloured(out) ? `\u001b[${code}m${text}\u001b[0m` : text);
  const print = (line: string) => out.write(`${line}\n`);
  let chapters = 0;
  return {
    chapter(title) {
      chapters += 1;
      const heading = `${chapters}. ${title}`;
      print('');
      print(paint(BOLD, heading));
      print(paint(DIM, '-'.repeat(heading.length)));
    },
    say(...sentences) {
      for (const line of fill(sentences.join(' '), WIDTH)) {
        print(line);
      }
    },
    show(lines) {
      print('');
      const [titles = '', rule = '', ...rows] = lines;
      print(INDENT + paint(BOLD, titles));
      print(INDENT + paint(DIM, rule));
      for (const row of rows) {
        print(INDENT + row);
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
    const [first = '', ...rest] = fill(sentence, WIDTH - 7);
    print(`${INDENT}${paint(colour, word.padEnd(3))}  ${first}`);
    for (const line of rest) {
      print(`       ${line}`);
    }
  }
}

function fill(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) {
      lines.push(word);
    } else {
      lines[lines.length - 1] = `${last} ${word}`;
    }
  }
  return lines;
}
