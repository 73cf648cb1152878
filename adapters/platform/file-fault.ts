/** The errors of the file system, and their meaning for an export. */

import { type ExportProblem, ExportUnusable } from '../../application/ports/exports.ts';

const PROBLEMS: Readonly<Record<string, ExportProblem>> = {
  ENOENT: 'missing',
  ENOTDIR: 'not_a_directory',
  EACCES: 'not_permitted',
  EPERM: 'not_permitted',
  EROFS: 'not_permitted',
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  // The file would exceed the size limit.
  EFBIG: 'disk_full',
};

/** The error code of the operating system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined;
}

/** Converts an error of the file system to that of the port; returns any other error unchanged. */
export function asUnusable(
  location: string,
  error: unknown,
  meaning: Readonly<Record<string, ExportProblem>> = {},
): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  return new ExportUnusable(meaning[code] ?? PROBLEMS[code] ?? 'failed', location, { cause: error });
}

export async function unusable<Answer>(location: string, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    throw asUnusable(location, error);
  }
}
