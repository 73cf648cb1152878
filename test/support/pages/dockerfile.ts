/** The instructions of the Dockerfile. */

import { readFileSync } from 'node:fs';

/** A file of the repository. */
export const at = (path: string) => new URL(`../../../${path}`, import.meta.url);
export const text = (path: string) => readFileSync(at(path), 'utf8');

export const dockerfile = text('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [instruction = '', ...rest] = line.split(/\s+/);
    return { instruction, rest, line };
  });
export const stages = dockerfile.reduce<(typeof dockerfile)[]>((found, one) => {
  if (one.instruction === 'FROM') found.push([]);
  found.at(-1)?.push(one);
  return found;
}, []);
export const finalStage = stages.at(-1) ?? [];
export const last = (instruction: string) => finalStage.findLast((one) => one.instruction === instruction);
export const execForm = (instruction: string): readonly string[] =>
  JSON.parse(/\[.*\]/.exec(last(instruction)?.line ?? '')?.[0] ?? '[]');
