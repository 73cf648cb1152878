/** Reads the bytes of a YAML file within its limits. */

import { createReadStream } from 'node:fs';
import type { PlacedDocuments } from '../../../domain/placed-mapping.ts';
import { readMarkedUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import { findExcess, readYaml, type YamlLimits } from './yaml-documents.ts';

/** The maximum length of a file: enough for thousands of agents. */
const MAX_BYTES = 4 * 1_048_576;
/**
 * The limits of every file, checked before it is parsed. The tokens are those of some 4,000 agents. A registration has
 * lists of at most 1,000 entries, few levels, and few values of several lines.
 */
export const FILE_LIMITS: YamlLimits = { tokens: 500_000, escapes: 50_000, entries: 2000, depth: 32, aliases: 100 };

/** An error in a file, with its position. It quotes nothing of the file but field names. */
export interface FileProblem {
  /** The path as given on the command line. */
  readonly file: string;
  /** Counted from 1. `undefined` if the problem concerns the whole file. */
  readonly line: number | undefined;
  /** `undefined` if the problem concerns the whole document. */
  readonly field: string | undefined;
  readonly sentence: string;
}

/** Formats a problem as `agents.yaml:7: max_task_ttl: Must be …`, which editors and other programs understand. */
export function describeFileProblem({ file, line, field, sentence }: FileProblem): string {
  return [line === undefined ? file : `${file}:${line}`, ...(field === undefined ? [] : [field]), sentence].join(': ');
}

type YamlFile =
  | { readonly kind: 'read'; readonly documents: PlacedDocuments }
  /** A problem of the whole file. */
  | { readonly kind: 'unusable'; readonly sentence: string };

export interface YamlContent {
  readonly limits: YamlLimits;
  /** What a document must hold, for the problem of another one. */
  readonly mapping: string;
}

export async function readYamlFile(file: string, content: YamlContent): Promise<YamlFile> {
  const read = await readBytes(file);
  return read.kind === 'bytes' ? readYamlBytes(read.bytes, content) : read;
}

export function readYamlBytes(bytes: Uint8Array, { limits, mapping }: YamlContent): YamlFile {
  if (bytes.length > MAX_BYTES) return { kind: 'unusable', sentence: `Is longer than ${MAX_BYTES} bytes.` };
  const text = readYamlText(bytes);
  if (text === undefined) return { kind: 'unusable', sentence: 'Is not text in UTF-8.' };
  const excess = findExcess(text, limits);
  const documents = excess === undefined ? readYaml(text, mapping) : { mappings: [], problems: [excess] };
  return { kind: 'read', documents };
}

/** `undefined` if the bytes are not UTF-8. YAML allows a byte order mark (YAML 1.2 §5.2), and some editors write one. */
export function readYamlText(bytes: Uint8Array): string | undefined {
  return readMarkedUtf8(bytes);
}

/** The system's errors for a file. */
const READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'Does not exist.',
  ENOTDIR: 'Does not exist.',
  EISDIR: 'Is a directory.',
  EACCES: 'May not be read by this user.',
};

async function readBytes(
  file: string,
): Promise<{ readonly kind: 'bytes'; readonly bytes: Uint8Array } | Extract<YamlFile, { kind: 'unusable' }>> {
  const chunks: Uint8Array[] = [];
  try {
    // Reads one byte more than the limit, which shows that a file is too long. A device could deliver bytes without end.
    for await (const chunk of createReadStream(file, { end: MAX_BYTES })) chunks.push(chunk);
    return { kind: 'bytes', bytes: Buffer.concat(chunks) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { kind: 'unusable', sentence: READ_FAULTS[code] ?? 'Cannot be read.' };
  }
}
