/** Puts the figures into `docs/performance.md`, between the two marks there; the prose around them is written by hand. */

import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('../../docs/performance.md', import.meta.url);
export const START_MARK = '<!-- figures: start (npm run bench -- --write) -->';
export const END_MARK = '<!-- figures: end -->';

export function writeFigures(figures: string): void {
  writeFileSync(FILE, replaceFigures(readFileSync(FILE, 'utf8'), figures));
}

export function replaceFigures(document: string, figures: string): string {
  const start = document.indexOf(START_MARK);
  const end = document.indexOf(END_MARK, start);
  if (start === -1 || end === -1) {
    throw new Error('docs/performance.md has lost the marks between which the figures go');
  }
  return `${document.slice(0, start + START_MARK.length)}\n\n${figures}\n\n${document.slice(end)}`;
}
