/** The text of a log's checkpoint (C2SP tlog-checkpoint v1.0.0): the origin, the size and the root of its tree. */

import { HASH_BYTES } from '../ledger/merkle-tree.ts';
import { decodeBase64, encodeBase64 } from './verifier-key.ts';

export interface TreeHead {
  /** Identifies the log. */
  readonly origin: string;
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
  /** Lines after the root. This service writes none. */
  readonly extensions?: readonly string[];
}

const SIZE = /^(?:0|[1-9]\d*)$/;

export function formatTreeHead({ origin, size, root, extensions = [] }: TreeHead): string {
  return `${[origin, size, encodeBase64(root), ...extensions].join('\n')}\n`;
}

/** @param text the text of a note; `undefined` if it is not a checkpoint, or its size is not a safe integer */
export function parseTreeHead(text: string): TreeHead | undefined {
  const lines = text.split('\n');
  const [origin, size = '', encoded = '', ...extensions] = lines.slice(0, -1);
  const root = decodeBase64(encoded);
  if (origin === undefined || lines.slice(0, -1).includes('') || lines.at(-1) !== '') return undefined;
  const count = parseSize(size);
  if (count === undefined || root?.length !== HASH_BYTES) return undefined;
  return { origin, size: count, root, extensions };
}

/** A number of leaves in decimal digits, without leading zeros. */
export function parseSize(text: string): number | undefined {
  return SIZE.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}
