/**
 * The width of a help. yargs lays it out in two columns, and cuts words that are wider than a column. On a narrow
 * terminal yargs does not wrap, and the entries of the help are put under each other here.
 */

import { fill } from './fill.ts';

/** The width elsewhere than on a terminal, and the most on one: longer lines are hard to read. */
const MOST_COLUMNS = 110;
/** Two columns need this width. */
const TWO_COLUMNS_FROM = 90;

interface HelpLayout {
  /** The width for yargs; `null`: it does not wrap. */
  readonly wrap: number | null;
  /** Completes the help that yargs has laid out. */
  complete(help: string): string;
}

/** @param columns of the terminal. `undefined` or 0: the output is no terminal, or the terminal reports no width */
export function helpLayout(columns: number | undefined): HelpLayout {
  const width = columns === undefined || columns === 0 ? MOST_COLUMNS : Math.min(columns, MOST_COLUMNS);
  if (width >= TWO_COLUMNS_FROM) {
    // One column less, for the space that yargs forgets in a full line.
    return { wrap: width - 1, complete: (help) => help.replaceAll(GLUED, '$1 $2') };
  }
  return {
    wrap: null,
    complete: (help) =>
      help
        .split('\n')
        .flatMap((line) => underEachOther(line, width))
        .join('\n'),
  };
}

/** The type of an option, without a space before it. */
const GLUED = /(\S)(\[(?:array|boolean|number|string)\](?: \[[^\]]*\])*)$/gm;

/** An entry is a name, a gap of at least two spaces, and what it means. The second column becomes an indented text. */
const ENTRY = /^(?<indent> *)(?<name>\S+(?: \S+)*) {2,}(?<meaning>\S.*)$/;
const STEP = '  ';

function underEachOther(line: string, width: number): readonly string[] {
  const { indent = '', name = '', meaning = '' } = ENTRY.exec(line)?.groups ?? {};
  if (name === '') return indented(line.trimStart(), /^ */.exec(line)?.[0] ?? '', width);
  const text = meaning.replaceAll(/ {2,}/g, ' ');
  return [...indented(name, indent.slice(0, STEP.length), width), ...indented(text, `${STEP}${STEP}`, width)];
}

function indented(text: string, indent: string, width: number): readonly string[] {
  return fill(text, width - indent.length).map((each) => `${indent}${each}`);
}
