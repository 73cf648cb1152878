import type { Month } from '../../domain/ledger/month.ts';

/** Why a file or directory could not be used. */
export type ExportProblem = 'missing' | 'not_a_directory' | 'not_permitted' | 'disk_full' | 'no_hard_links' | 'failed';

/** Thrown when the file system did not do what it was asked; names where, since the operator chose the place. */
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

/** What is wrong with a file that can be read, but not as the text of an export. */
export type ExportDamage = 'not_gzip' | 'cut_off' | 'not_utf8' | 'line_too_long' | 'followed_by_more';

/** Thrown while reading such a file. */
export class ExportDamaged extends Error {
  override readonly name = 'ExportDamaged';
  readonly damage: ExportDamage;

  constructor(damage: ExportDamage, options: ErrorOptions = {}) {
    super(`An export is damaged (${damage}).`, options);
    this.damage = damage;
  }
}

/** Lines without their line feeds, in batches. */
export type Lines = AsyncIterable<readonly string[]>;

/** A file that should be an export. */
export interface StoredExport {
  /** Its absolute path. */
  readonly location: string;
  /** From the start, each time. @throws ExportDamaged, ExportUnusable */
  lines(): Lines;
  /** Of the file as it stands, compressed; lowercase hex. @throws ExportUnusable */
  sha256(): Promise<string>;
}

/** An export that is written and durable, but under a temporary name. */
export interface DraftExport extends StoredExport {
  /** Gives it its name, durably. Never overwrites: when the name is `taken`, the draft is still one. */
  publish(): Promise<
    | { readonly kind: 'published'; readonly stored: StoredExport }
    | { readonly kind: 'taken'; readonly location: string }
  >;
  /** Deletes it. */
  discard(): Promise<void>;
}

/** The directory that exports go to. All methods may throw ExportUnusable. */
export interface ExportFolder {
  /** Finds out whether exports can be written there, and removes drafts that an interrupted run left. */
  prepare(): Promise<void>;
  /** The export that stands under the month's name. */
  find(month: Month): Promise<StoredExport | undefined>;
  /** Nothing is left of a draft that could not be written. What `lines` throws is thrown as it is. */
  draft(month: Month, lines: Lines): Promise<DraftExport>;
  /** Deletes a month's export that this run has published and found to be of no use. */
  withdraw(stored: StoredExport): Promise<void>;
}
