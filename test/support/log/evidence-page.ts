/** docs/verify-evidence.html: its text, and its verification, imported as the module that it is. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { BundleHop } from '../../../domain/log/bundle-hops.ts';
import type { BundleQuestion } from '../../../domain/log/bundle-questions.ts';

export const pageUrl = new URL('../../../docs/verify-evidence.html', import.meta.url);
export const pageText = readFileSync(pageUrl, 'utf8');

/** The content of an element of which the page has one. */
export function contentOf(element: string): string {
  const [, content = ''] = new RegExp(`<${element}[^>]*>([^]*?)</${element}>`).exec(pageText) ?? [];
  return content;
}

export const sourceHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

interface PageVerdict {
  readonly verified: boolean;
  readonly fault?: string;
  readonly line?: number;
  readonly message?: string;
  readonly questions?: unknown;
  readonly further?: number;
  readonly hops?: unknown;
  readonly furtherHops?: number;
}

/** It does nothing else here: there is no document. */
export const {
  verifyBundle: verifyOnPage,
  describeQuestion: describedOnPage,
  describeHop: hopOnPage,
} = (await import(`data:text/javascript,${encodeURIComponent(contentOf('script'))}`)) as {
  verifyBundle(bundle: string, policy?: string): Promise<PageVerdict>;
  describeQuestion(question: BundleQuestion): string;
  describeHop(hop: BundleHop): string;
};
