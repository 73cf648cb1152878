/** What is wrong with a line that yargs refused, and which command it probably meant. */

import { type NamedCommand, nameOf } from './command.ts';

/** Known names that differ little from one that was typed, the nearest first. */
export type Nearest = (typed: string, names: Iterable<string>, most: number) => readonly string[];

/** The commands that a line names, a group before its own command. */
interface MeantCommand {
  /** The words of the line that name it: `keys rotate`. Empty if the line names no command. */
  readonly words: readonly string[];
  /** The positional arguments that it needs, as its usage has them. */
  readonly needed: readonly string[];
  readonly examples: readonly string[];
  /** The commands that can follow. */
  readonly next: readonly NamedCommand[];
}

export async function meantCommand(line: readonly string[], commands: readonly NamedCommand[]): Promise<MeantCommand> {
  let meant: MeantCommand = { words: [], needed: [], examples: [], next: commands };
  for (const word of line) {
    const named = meant.next.find((each) => nameOf(each) === word);
    if (named === undefined) continue;
    const { examples, commands: next } = await named.load();
    meant = { words: [...meant.words, word], needed: named.usage.match(/<[^>]+>/g) ?? [], examples, next };
  }
  return meant;
}

/**
 * Finds the first word that should name a command, and names none. yargs does not refuse it, but shows the help of the command
 * before it.
 */
export async function unknownCommand(
  line: readonly string[],
  commands: readonly NamedCommand[],
): Promise<string | undefined> {
  let next = commands;
  for (const word of line) {
    // `help` is another way to write --help.
    if (word.startsWith('-') || word === 'help' || next.length === 0) return undefined;
    const named = next.find((each) => nameOf(each) === word);
    if (named === undefined) return word;
    next = (await named.load()).commands;
  }
  return undefined;
}

interface RefusedLine {
  readonly line: readonly string[];
  readonly meant: MeantCommand;
  /** The options of the meant command, as its help shows them. */
  readonly options: () => Promise<readonly string[]>;
  readonly nearest: Nearest;
}

interface Refusal {
  readonly sentence: string;
  /** The words of the command whose help says more. */
  readonly helpOf: readonly string[];
}

/**
 * Misspelt names of commands or options, which may be repeated. Other text may be a misplaced secret. The secrets of the
 * service have 32 characters or more.
 */
const NAMES = /^(?:[a-z][a-z0-9-]{0,30}|[A-Z])(?:, (?:[a-z][a-z0-9-]{0,30}|[A-Z]))*$/;

/** @param message yargs' message: `Unknown command: <names>`, or a sentence without a full stop */
export async function describeRefusal(message: string, refused: RefusedLine): Promise<Refusal> {
  const { meant, line, nearest } = refused;
  const [, what, rest = ''] = /^([^:]*):(.*)$/s.exec(message) ?? [];
  const names = namesIn(rest.trim(), line);
  const [first = ''] = names;
  const here = { helpOf: meant.words };
  switch (what) {
    case 'Unknown command':
    case 'Unknown commands': {
      const unknown = listed(names.length > 1 ? 'Unknown commands' : 'Unknown command', names);
      const [near] = nearest(first, meant.next.map(nameOf), 1);
      if (near === undefined) return { ...here, sentence: `${unknown}.` };
      const helpOf = [...meant.words, near];
      return { helpOf, sentence: `${unknown}. Did you mean "mandate ${helpOf.join(' ')}"?` };
    }
    case 'Unknown argument':
    case 'Unknown arguments': {
      const given = names.map((name) => asOption(name, line) ?? name);
      const near = asOption(first, line) && optionNear(first, await refused.options(), nearest);
      const question = near === undefined ? '' : ` Did you mean ${near}?`;
      return { ...here, sentence: `${listed(what, given)}.${question}` };
    }
    case 'Missing required argument':
    case 'Missing required arguments': {
      const options = await refused.options();
      const missing = names.map((name) => (options.includes(`--${name}`) ? `--${name}` : `<${name}>`));
      return { ...here, sentence: `${listed(what, missing)}.${exampleOf(meant, missing)}` };
    }
    case 'Not enough non-option arguments': {
      const missing = meant.needed.slice(Number(/\d+/.exec(rest)?.[0] ?? 0));
      return { ...here, sentence: `${listed('Missing required argument', missing)}.${exampleOf(meant, missing)}` };
    }
    case 'Not enough arguments following':
      return names.length === 0
        ? { ...here, sentence: 'An option needs a value.' }
        : { ...here, sentence: `--${first} needs a value.${exampleOf(meant, [`--${first}`])}` };
    default: {
      const said = what === undefined || names.length > 0 ? message.trim() : what;
      return { ...here, sentence: /[.?!]$/.test(said) ? said : `${said}.` };
    }
  }
}

/**
 * The names of a list. If the list has other text too, such as a file after a mistyped command, only its first name is
 * taken. That must be a whole word of the line: a word with a comma may be a secret, so no part of it is repeated.
 */
function namesIn(list: string, line: readonly string[]): readonly string[] {
  const words = list.split(', ');
  // yargs splits a word such as -hunter2 into letters, which together would repeat it.
  const isWhole = (word: string) => word.length > 1 || line.includes(`-${word}`) || line.includes(`--${word}`);
  if (NAMES.test(list) && words.every(isWhole)) return words;
  return words.slice(0, 1).filter((word) => NAMES.test(word) && line.includes(word));
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? what : `${what}: ${names.join(', ')}`;
}

/** How the line writes the option: `--name` or `-n`. @returns `undefined` if the line has no option of this name */
function asOption(name: string, line: readonly string[]): string | undefined {
  if (line.some((word) => word === `--${name}` || word.startsWith(`--${name}=`))) return `--${name}`;
  return name.length === 1 && line.includes(`-${name}`) ? `-${name}` : undefined;
}

/** For a letter, the first option that begins with it. */
function optionNear(name: string, options: readonly string[], nearest: Nearest): string | undefined {
  if (name.length === 1) return options.find((option) => option.startsWith(`--${name.toLowerCase()}`));
  return nearest(`--${name}`, options, 1)[0];
}

/** The first example that has what is missing. */
function exampleOf({ examples }: MeantCommand, missing: readonly string[]): string {
  const fitting = examples.find((line) => missing.some((name) => line.includes(name))) ?? examples[0];
  return fitting === undefined ? '' : ` For example: mandate ${fitting}`;
}
