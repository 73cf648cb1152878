/** The pages of the repository, and their fenced blocks. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraries, root } from '../packed-packages.ts';

export const pages: readonly string[] = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...libraries.map(({ source }) => `${source}/README.md`),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
];

export interface Block {
  readonly language: string;
  /** Without the indentation of the fence. */
  readonly text: string;
  /** Where the block begins in the text of the page. */
  readonly at: number;
  /** Why no test runs it, from the comment above it. */
  readonly notRun: string | undefined;
}

export const pageText = (page: string): string => readFileSync(join(root, page), 'utf8');

/** The text of a page without its fenced blocks. */
export const proseOf = (page: string): string => pageText(page).replaceAll(/^ *```.*?^ *```$/gms, '');

/** The anchors of the headings, as GitHub makes them. */
export function anchorsOf(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^a-z0-9 _-]/g, '')
      .replaceAll(' ', '-'),
  );
}

export function blocksOf(text: string): readonly Block[] {
  const fences = /^( *)(?:<!-- not run by a test: (.+?) -->\n *)?```(\w*)[^\n]*\n(.*?)^ *```$/gms;
  return [...text.matchAll(fences)].map(({ 1: indent = '', 2: notRun, 3: language = '', 4: body = '', index }) => ({
    language,
    notRun,
    at: index,
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

const SHELL = ['sh', 'bash', 'shell', 'console'];

/** The shell blocks with a command. A block of settings has only assignments; other tests read those as settings. */
export function commandsOf(text: string): readonly Block[] {
  return blocksOf(text).filter((block) => SHELL.includes(block.language) && !isSettings(block.text));
}

/** The commands that a test has to run. */
export const unmarkedCommandsOf = (page: string): readonly Block[] =>
  commandsOf(pageText(page)).filter(({ notRun }) => notRun === undefined);

const isSettings = (text: string) =>
  text.split('\n').every((line) => /^(?:#.*|\w+=(?:[^\s$]|\$\{\w+\})*(?:\s+#.*)?)?$/.test(line));
