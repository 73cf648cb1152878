/**
 * Parses YAML 1.2 into mappings of fields with their line numbers. Refuses everything that YAML parsers read differently:
 * repeated names, tags outside the core schema, merged mappings.
 */

import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  type ParsedNode,
  Parser,
  parseAllDocuments,
  visit,
  type YAMLError,
} from 'yaml';
import type { PlacedDocuments, PlacedField, PlacedProblem } from '../../../domain/placed-mapping.ts';
import type { Json } from '../../../domain/tokens/strict-json.ts';

/**
 * The limits of a text. The library reads everything into memory. Its time grows with the square of the names in a mapping,
 * and with the aliases of a document. Its recursion ends the process where the stack is nearly full.
 */
export interface YamlLimits {
  /** Names, values, punctuation and the spaces between them, in the whole text. */
  readonly tokens: number;
  /** Escapes in quoted values, and line breaks in values, in the whole text: the library reports a fault for each. */
  readonly escapes: number;
  /** Entries of one mapping or list. */
  readonly entries: number;
  /** Mappings and lists within one another. */
  readonly depth: number;
  /** Anchors and aliases together, in one document. 0 refuses them. */
  readonly aliases: number;
}

/**
 * Finds the first line at which a text exceeds the limits. It splits the text and builds no values: its time is linear, and
 * it stops at that line.
 */
export function findExcess(
  text: string,
  { tokens, escapes, entries, depth, aliases }: YamlLimits,
): PlacedProblem | undefined {
  const parser = new Parser();
  let [line, read, escaped, repeats] = [1, 0, 0, 0];
  for (const token of new Lexer().lex(text)) {
    const excess = (limit: number, what: string) => ({ line, sentence: `More than ${limit} ${what} up to this line.` });
    read += 1;
    if (read > tokens) return excess(tokens, 'names, values and signs are in the file');
    const breaks = token.split('\n').length - 1;
    if (!isLineBreak(token)) escaped += breaks;
    if (token.startsWith('"')) escaped += token.split('\\').length - 1;
    if (escaped > escapes) return excess(escapes, 'escapes and line breaks are in values');
    if (/^[*&]/.test(token)) repeats += 1;
    if (repeats > 0 && aliases === 0) return { line, sentence: 'Has an anchor or an alias: this file may have none.' };
    if (repeats > aliases) return excess(aliases, 'anchors and aliases are in one registration');
    for (const { type } of parser.next(token)) if (type === 'document') repeats = 0;
    // The collections that are open at this token, the innermost last, in a document.
    const open = parser.stack.filter((node) => 'items' in node);
    if (open.length > depth) return excess(depth, 'mappings and lists are within one another');
    if ((open.at(-1)?.items.length ?? 0) > entries) return excess(entries, 'entries are in one mapping or list');
    line += breaks;
  }
  return undefined;
}

/** Between two values. */
function isLineBreak(token: string): boolean {
  return token === '\n' || token === '\r\n';
}

/** Later faults of a document are usually consequences of the first ones. */
const MAX_FAULTS = 10;

/**
 * Parses every document of the text. Empty ones, as after a trailing `---`, are left out.
 *
 * @param content what a document must hold, for the problem of another one
 */
export function readYaml(text: string, content = 'fields and their values'): PlacedDocuments {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    merge: false,
    // The library's warnings on standard error would quote the text.
    logLevel: 'silent',
  });
  const readings = documents.map((document) => readDocument(document, content, (offset) => lines.linePos(offset).line));
  return {
    mappings: readings.flatMap(({ mappings }) => mappings),
    problems: readings.flatMap(({ problems }) => problems),
  };
}

function readDocument(document: Document.Parsed, content: string, lineAt: (offset: number) => number): PlacedDocuments {
  const faults = [...document.errors, ...document.warnings].slice(0, MAX_FAULTS);
  const problems = distinct(faults.map((fault) => ({ line: lineAt(fault.pos[0]), sentence: sentenceFor(fault) })));
  if (!faults.every(({ code }) => ONE_FIELD.has(code))) return wrong(problems);
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return wrong(problems);
  const line = lineAt(contents.range[0]);
  if (!isMap<ParsedNode, ParsedNode | null>(contents)) {
    return wrong([...problems, { line, sentence: `Must be a mapping: ${content}.` }]);
  }
  const fields = new Map<string, PlacedField>();
  const unread = new Set<string>();
  for (const { key, value } of contents.items) {
    const [begin, end] = [key.range[0], (value ?? key).range[2]];
    const at = lineAt(begin);
    if (!isScalar(key) || typeof key.value !== 'string') {
      problems.push({ line: at, sentence: NAMELESS });
      continue;
    }
    if (faults.some(({ pos: [offset] }) => offset >= begin && offset < end)) {
      unread.add(key.value);
      continue;
    }
    const json = asJson(() => value?.toJS(document));
    if (json !== undefined) {
      fields.set(key.value, { value: json, line: at });
      continue;
    }
    unread.add(key.value);
    problems.push({ line: lineAt(offsetOfInfinite(value) ?? begin), sentence: UNREADABLE });
  }
  const lineOf = (path: readonly (string | number)[]) => lineAt(offsetOf(contents, path));
  return { mappings: [{ line, fields, unread, lineOf }], problems };
}

function offsetOf(contents: ParsedNode, path: readonly (string | number)[]): number {
  let [node, offset]: [ParsedNode | null, number] = [contents, contents.range[0]];
  for (const step of path) {
    if (isMap<ParsedNode, ParsedNode | null>(node)) {
      const items: readonly Pair<ParsedNode, ParsedNode | null>[] = node.items;
      const pair = items.find(({ key }) => isScalar(key) && String(key.value) === step);
      if (pair === undefined) return offset;
      [node, offset] = [pair.value, pair.key.range[0]];
    } else {
      const entry: ParsedNode | undefined = isSeq<ParsedNode>(node) ? node.items[Number(step)] : undefined;
      if (entry === undefined) return offset;
      [node, offset] = [entry, entry.range[0]];
    }
  }
  return offset;
}

/** The offset of the first infinite number, such as `.inf` or `1e400`; `undefined` if there is none. JSON has no such number. */
function offsetOfInfinite(node: ParsedNode | null): number | undefined {
  let offset: number | undefined;
  visit(node, {
    Scalar(_, { value, range }) {
      if (typeof value !== 'number' || Number.isFinite(value)) return undefined;
      offset = range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}

/** One wrong sign can be several faults of one line. */
function distinct(problems: readonly PlacedProblem[]): PlacedProblem[] {
  return problems.filter(({ line, sentence }, at) => {
    return problems.findIndex((other) => other.line === line && other.sentence === sentence) === at;
  });
}

function wrong(problems: readonly PlacedProblem[]): PlacedDocuments {
  return { mappings: [], problems };
}

/** Faults of a single field. The other fields can still be read. */
const ONE_FIELD: ReadonlySet<YAMLError['code']> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED']);

const NAMELESS = 'A name must be a string.';
const UNREADABLE = 'Contains a value that JSON does not have, an unknown anchor, or too many repetitions.';

/** Characters, about: far more than any registration. Aliases can make a short file mean a long text. */
const MOST_SAID = 1_048_576;

/** The value as JSON. `undefined` if JSON has no such value, or if aliases repeat too much. */
function asJson(read: () => unknown): Json | undefined {
  try {
    const value = read() ?? null;
    // The library does not limit aliases of empty lists. So the length is known before anything is repeated.
    return lengthOf(value, new Map()) <= MOST_SAID ? (JSON.parse(JSON.stringify(value)) as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** Infinite for what JSON cannot say. Aliases share objects: each is measured once. */
function lengthOf(value: unknown, known: Map<object, number>): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value === 'number') return Number.isFinite(value) ? 1 : Number.POSITIVE_INFINITY;
  if (typeof value !== 'object' || value === null) return 1;
  const before = known.get(value);
  if (before !== undefined) return before;
  // The length until the value is measured: a value that contains itself has no end.
  known.set(value, Number.POSITIVE_INFINITY);
  let length = 2;
  for (const [name, member] of Object.entries(value)) length += name.length + lengthOf(member, known);
  known.set(value, length);
  return length;
}

/** Sentences for faults. The library's own messages are not used, because they quote the text. */
const SENTENCES: Partial<Readonly<Record<YAMLError['code'], string>>> = {
  DUPLICATE_KEY: 'The name is repeated.',
  TAB_AS_INDENT: 'Is indented with a tab: YAML needs spaces.',
  BAD_INDENT: 'Is indented wrongly, or a bracket before it is not closed.',
  MISSING_CHAR: 'A character is missing: a quote, a bracket, a colon or a comma.',
  TAG_RESOLVE_FAILED: 'Has a tag: tags are not supported.',
  UNEXPECTED_TOKEN:
    'Has a sign in a place where YAML has another meaning for it: a text with brackets or braces needs quotes.',
  BAD_SCALAR_START: 'A text begins with a sign that YAML keeps for itself: it needs quotes.',
  BLOCK_AS_IMPLICIT_KEY: 'Has two colons in one line: a text with a colon and a space needs quotes.',
  MULTILINE_IMPLICIT_KEY: 'A name needs a colon and a space after it, in the same line.',
  BAD_DQ_ESCAPE: 'Has a backslash that begins no escape: a text with backslashes needs single quotes.',
};

function sentenceFor({ code }: YAMLError): string {
  return SENTENCES[code] ?? `Is not well-formed YAML (${code}).`;
}
