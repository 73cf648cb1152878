/** Everything by which one module asks for another. */

import { sourceTokens, type Token } from './source-tokens.ts';

/** What is asked for; `undefined` when the source does not show it. */
export type Specifier = string | undefined;

/** Functions that load what their first argument names. */
const LOADERS = new Set(['require', 'getBuiltinModule']);

/**
 * Of every form: `import`, `import type`, `import '…'`, `import()`, `import('…').Type`, `export … from`, `require`
 * with its relatives, and reference directives.
 */
export function findImports(source: string): readonly Specifier[] {
  const tokens = sourceTokens(source);
  return tokens.flatMap((token, at) => {
    if (token.kind === 'reference') return [token.value];
    if (token.kind !== 'name') return [];
    if (token.value === 'import') return importAt(tokens, at);
    if (token.value === 'export') return exportAt(tokens, at);
    if (LOADERS.has(token.value)) return loaderAt(tokens, at);
    // A `require` of one's own making can be called anything.
    return token.value === 'createRequire' ? [undefined] : [];
  });
}

function importAt(tokens: readonly Token[], at: number): readonly Specifier[] {
  const next = tokens[at + 1];
  if (isMark(tokens[at - 1], '.') || isMark(next, ':') || isMark(next, '.')) return [];
  if (next?.kind === 'text') return [next.value];
  if (isMark(next, '(')) return [argumentAt(tokens, at + 2)];
  return sourceOfClause(tokens, at + 1);
}

/** `export *`, `export { … }` and their `type` forms, when a `from` follows. */
function exportAt(tokens: readonly Token[], at: number): readonly Specifier[] {
  const start = tokens[at + 1]?.value === 'type' ? at + 2 : at + 1;
  if (isMark(tokens[at - 1], '.')) return [];
  if (isMark(tokens[start], '*')) return sourceOfClause(tokens, start);
  if (!isMark(tokens[start], '{')) return [];
  const end = tokens.findIndex((token, index) => index > start && isMark(token, '}'));
  return tokens[end + 1]?.value === 'from' ? [textOf(tokens[end + 2])] : [];
}

/** `require('…')`, `module.require('…')`, `require.resolve('…')`; one that is handed on could be asked for anything. */
function loaderAt(tokens: readonly Token[], at: number): readonly Specifier[] {
  const next = tokens[at + 1];
  if (isMark(next, '(')) return [argumentAt(tokens, at + 2)];
  if (isMark(next, '.') && isMark(tokens[at + 3], '(')) return [argumentAt(tokens, at + 4)];
  return isMark(next, ':') ? [] : [undefined];
}

/** The text after the clause's `from`, a word that may also be imported. `import a = require('…')` is a `require`. */
function sourceOfClause(tokens: readonly Token[], start: number): readonly Specifier[] {
  for (let at = start; at < tokens.length && !isMark(tokens[at], ';'); at += 1) {
    const [word, source] = [tokens[at], tokens[at + 1]];
    if (isMark(word, '=')) return [];
    if (word?.kind === 'name' && word.value === 'from' && (source?.kind === 'text' || source?.kind === 'obscure')) {
      return [textOf(source)];
    }
  }
  return [undefined];
}

/** An argument that is one plain text. */
function argumentAt(tokens: readonly Token[], at: number): Specifier {
  const whole = isMark(tokens[at + 1], ')') || isMark(tokens[at + 1], ',');
  return whole ? textOf(tokens[at]) : undefined;
}

function textOf(token: Token | undefined): Specifier {
  return token?.kind === 'text' ? token.value : undefined;
}

function isMark(token: Token | undefined, mark: string): boolean {
  return token?.kind === 'mark' && token.value === mark;
}
