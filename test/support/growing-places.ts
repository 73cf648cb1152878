/** Finds the places in source text that can grow or make a request wait: collections, timers, queues, limiters and connections. */

import { readFileSync } from 'node:fs';
import { sourceFiles } from './source-files.ts';

const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** @param kinds what counts as such a place @returns the number of places in each file that has one, by its path */
export function growingPlaces(folders: readonly string[], kinds: RegExp): Readonly<Record<string, number>> {
  const counted = sourceFiles(folders).map((path) => {
    const code = readFileSync(path, 'utf8').replaceAll(COMMENT, '');
    return [path, [...code.matchAll(kinds)].length] as const;
  });
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

/** The table below a heading of a page. */
export function tableBelow(page: string, heading: string): string {
  const [, after = ''] = readFileSync(page, 'utf8').split(`\n${heading}\n\n`);
  return after.slice(after.indexOf('|')).split('\n\n', 1)[0] ?? '';
}
