/**
 * YAML 1.2 as mappings of named fields, each with the line on which it stands. Nothing that readers of YAML disagree
 * about is taken: no name twice, no tag that is not of the core schema, no merging of mappings.
 */

import { type Document, isMap, isScalar, LineCounter, type ParsedNode, parseAllDocuments, type YAMLError } from 'yaml';
import type { Json } from '../../../domain/tokens/strict-json.ts';

interface YamlField {
  readonly value: Json;
  readonly line: number;
}

export interface YamlMapping {
  /** Where it begins. */
  readonly line: number;
  readonly fields: ReadonlyMap<string, YamlField>;
  /** Names whose values cannot be read; a problem says why. */
  readonly unread: ReadonlySet<string>;
}

interface YamlProblem {
  readonly line: number;
  readonly sentence: string;
}

export interface YamlReading {
  readonly mappings: readonly YamlMapping[];
  readonly problems: readonly YamlProblem[];
}

/** What follows is usually the consequence of the first. */
const MAX_FAULTS = 10;

/** Every document of the text; one without anything in it, as a `---` at the end makes it, is none. */
export function readYaml(text: string): YamlReading {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    merge: false,
    // What it would print to standard error quotes the text.
    logLevel: 'silent',
  });
  const readings = documents.map((document) => readDocument(document, (offset) => lines.linePos(offset).line));
  return {
    mappings: readings.flatMap(({ mappings }) => mappings),
    problems: readings.flatMap(({ problems }) => problems),
  };
}

function readDocument(document: Document.Parsed, lineAt: (offset: number) => number): YamlReading {
  const faults = [...document.errors, ...document.warnings].slice(0, MAX_FAULTS);
  const problems: YamlProblem[] = faults.map((fault) => ({ line: lineAt(fault.pos[0]), sentence: sentenceFor(fault) }));
  if (!faults.every(({ code }) => ONE_FIELD.has(code))) return wrong(problems);
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return wrong(problems);
  const line = lineAt(contents.range[0]);
  if (!isMap<ParsedNode, ParsedNode | null>(contents)) {
    return wrong([...problems, { line, sentence: 'Must be a mapping: the fields of one registration.' }]);
  }
  const fields = new Map<string, YamlField>();
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
    problems.push({ line: at, sentence: UNREADABLE });
  }
  return { mappings: [{ line, fields, unread }], problems };
}

function wrong(problems: readonly YamlProblem[]): YamlReading {
  return { mappings: [], problems };
}

/** Faults of one field, beside which the others can be read. */
const ONE_FIELD: ReadonlySet<YAMLError['code']> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED']);

const NAMELESS = 'A name must be a string.';
const UNREADABLE = 'Holds something that JSON cannot say, an anchor that is not there, or too many repetitions.';

/** What the file means, as it would be sent: not a number that JSON has no word for, nor aliases without end. */
function asJson(read: () => unknown): Json | undefined {
  try {
    const value = read() ?? null;
    return isSayable(value) ? (JSON.parse(JSON.stringify(value)) as Json) : undefined;
  } catch {
    return undefined;
  }
}

function isSayable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isSayable);
}

/** The library's own sentences quote what they are about. */
const SENTENCES: Partial<Readonly<Record<YAMLError['code'], string>>> = {
  DUPLICATE_KEY: 'The same name is here twice.',
  TAB_AS_INDENT: 'Is indented with a tab: YAML takes spaces.',
  BAD_INDENT: 'Is indented otherwise than it should be, or a bracket before it is left open.',
  MISSING_CHAR: 'A character is missing: a quote, a bracket, a colon or a comma.',
  TAG_RESOLVE_FAILED: 'Has a tag, which says nothing here.',
};

function sentenceFor({ code }: YAMLError): string {
  return SENTENCES[code] ?? `Is not well-formed YAML (${code}).`;
}
