/** The directory to which months of the ledger are exported, and its files. */

import type { Month } from '../../domain/ledger/time-range.ts';

/** Why a file or directory is unusable. */
export type ExportProblem =
  | 'missing'
  | 'not_a_directory'
  | 'not_permitted'
  | 'disk_full'
  | 'no_hard_links'
  | 'replaced'
  | 'failed';

/** Thrown if a file operation fails. It names the path: the operator chose it. */
export class ExportUnusable extends Error {
  override readonly name = 'ExportUnusable';
  readonly problem: ExportProblem;
  readonly location: string;

  constructor(problem: ExportProblem, location: string, options: ErrorOptions = {}) {
    super(`An export could not be used (${problem}).`, options);
    this.problem = problem;
    this.location = location;
  }
}

/** Why a readable file is not the text of an export. */
export type ExportDamage = 'not_gzip' | 'cut_off' | 'not_utf8' | 'line_too_long' | 'followed_by_more';

/** Thrown while a damaged file is read. */
export class ExportDamaged extends Error {
  override readonly name = 'ExportDamaged';
  readonly damage: ExportDamage;

  constructor(damage: ExportDamage, options: ErrorOptions = {}) {
    super(`An export is damaged (${damage}).`, options);
    this.damage = damage;
  }
}

/** Lines without line feeds, in batches. */
export type Lines = AsyncIterable<readonly string[]>;

/** A file that may be an export. */
export interface StoredExport {
  /** Its absolute path. */
  readonly location: string;
  /** Each call reads from the start. @throws ExportDamaged, ExportUnusable */
  lines(): Lines;
  /** Hash of the compressed file; lowercase hex. @throws ExportUnusable */
  sha256(): Promise<string>;
}

/**
 * An open file: `lines` and `sha256` read this file even if another process gives its name to another file. `sha256`
 * throws ExportUnusable (`replaced`) once `location` leads to another file.
 */
export interface OpenExport extends StoredExport {
  close(): Promise<void>;
}

/** A written and durable export that still has a temporary name. */
export interface DraftExport extends OpenExport {
  /**
   * Renames it to its final name, durably. It overwrites no file: if the name is `taken`, the export stays a draft. The published
   * export is the same open file. If the temporary name leads to another file, that file is not published:
   * ExportUnusable (`replaced`).
   */
  publish(): Promise<
    { readonly kind: 'published'; readonly stored: OpenExport } | { readonly kind: 'taken'; readonly location: string }
  >;
  /** Deletes the draft. The caller closes it. */
  discard(): Promise<void>;
}

/** The directory for exports. All methods may throw ExportUnusable. */
export interface ExportFolder {
  /** Checks that the directory is writable, and removes drafts so old that their runs must have been interrupted. */
  prepare(): Promise<void>;
  /** The file with the name of the month's export. */
  find(month: Month): Promise<OpenExport | undefined>;
  /** Writes a draft. No other run uses its name. If writing fails, nothing of it remains. Errors of `lines` are rethrown unchanged. */
  draft(month: Month, lines: Lines): Promise<DraftExport>;
  /** Deletes an export that this run has published and then found incomplete. */
  withdraw(stored: StoredExport): Promise<void>;
}
