/**
 * TypeScript source as tokens, as far as telling code from comments, texts and regular expressions takes. What it
 * cannot be sure of it refuses: a scanner that guesses would overlook what it is there to find.
 */

export interface Token {
  readonly kind:
    | 'name'
    /** A text without substitutions; `value` is what it says. */
    | 'text'
    /** A text whose value is not plain to see: escapes, or a template with substitutions. */
    | 'obscure'
    | 'number'
    | 'pattern'
    | 'mark'
    /** `/// <reference types="…" />` or `path`; `value` is what it refers to. */
    | 'reference';
  readonly value: string;
}

const SPACE = /\s+/y;
const LINE_COMMENT = /\/\/[^\n]*/y;
const BLOCK_COMMENT = /\/\*[\s\S]*?\*\//y;
const HASHBANG = /#![^\n]*/y;
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const NUMBER = /\d[\w.]*/y;
const TEXT = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y;
const PATTERN = /\/(?![*/])(?:[^/\\\n[]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+\/[a-z]*/y;
const REFERENCE = /^\/\/\/\s*<reference\s+(?:types|path)\s*=\s*["']([^"']*)["']/;

/** After these a slash begins a pattern; after any other name, a number, or a closing bracket, it divides. */
const BEFORE_PATTERN = new Set(
  'return typeof case in of delete void throw new else do await yield instanceof default extends'.split(' '),
);

/** @throws SyntaxError for what it cannot tell */
export function sourceTokens(source: string): readonly Token[] {
  return new Scanner(source).scan();
}

class Scanner {
  readonly #source: string;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  scan(): readonly Token[] {
    this.#take(HASHBANG);
    this.#code();
    if (this.#at < this.#source.length) this.#refuse('an unexpected closing brace');
    return this.#tokens;
  }

  /** Up to the end, or the closing brace of the template substitution that it is in. */
  #code(): void {
    for (let depth = 0; this.#at < this.#source.length; ) {
      const next = this.#source[this.#at] ?? '';
      if (next === '}' && depth === 0) return;
      if (this.#take(SPACE) !== undefined || this.#take(BLOCK_COMMENT) !== undefined) continue;
      if (this.#comment() || this.#word() || this.#literal(next)) continue;
      if (next === '\\') this.#refuse('a name with escapes');
      if (next === '{') depth += 1;
      if (next === '}') depth -= 1;
      this.#add('mark', next);
      this.#at += 1;
    }
  }

  #comment(): boolean {
    const comment = this.#take(LINE_COMMENT);
    const reference = comment === undefined ? undefined : REFERENCE.exec(comment)?.[1];
    if (reference !== undefined) this.#add('reference', reference);
    return comment !== undefined;
  }

  #word(): boolean {
    const name = this.#take(NAME);
    if (name !== undefined) this.#add('name', name);
    const number = name === undefined ? this.#take(NUMBER) : undefined;
    if (number !== undefined) this.#add('number', number);
    return (name ?? number) !== undefined;
  }

  #literal(next: string): boolean {
    if (next === '`') {
      this.#template();
      return true;
    }
    if (next === "'" || next === '"') {
      const text = this.#take(TEXT) ?? this.#refuse('a text without an end');
      this.#add(text.includes('\\') ? 'obscure' : 'text', text.slice(1, -1));
      return true;
    }
    if (next !== '/' || !this.#patternMayBegin()) return false;
    this.#add('pattern', this.#take(PATTERN) ?? this.#refuse('a pattern without an end'));
    return true;
  }

  #template(): void {
    const start = this.#tokens.length;
    const from = this.#at + 1;
    let plain = true;
    for (this.#at += 1; this.#source[this.#at] !== '`'; this.#at += 1) {
      if (this.#at >= this.#source.length) this.#refuse('a template without an end');
      if (this.#source[this.#at] === '\\') {
        plain = false;
        this.#at += 1;
      } else if (this.#source.startsWith('${', this.#at)) {
        plain = false;
        this.#at += 2;
        this.#code();
      }
    }
    const value = this.#source.slice(from, this.#at);
    this.#at += 1;
    // Before what its substitutions hold: an import() must see that its argument is no plain text.
    this.#tokens.splice(start, 0, { kind: plain ? 'text' : 'obscure', value });
  }

  #patternMayBegin(): boolean {
    const last = this.#tokens.at(-1);
    if (last === undefined) return true;
    if (last.kind === 'name') return BEFORE_PATTERN.has(last.value);
    return last.kind === 'mark' && !')]}'.includes(last.value);
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #add(kind: Token['kind'], value: string): void {
    this.#tokens.push({ kind, value });
  }

  #refuse(what: string): never {
    const line = this.#source.slice(0, this.#at).split('\n').length;
    throw new SyntaxError(`Line ${line} has ${what}, which this scanner cannot read.`);
  }
}
