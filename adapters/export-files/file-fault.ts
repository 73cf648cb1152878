/** What the file system says when it can't, and what that means for an export. */

import { type ExportProblem, ExportUnusable } from '../../application/ports/exports.ts';

const PROBLEMS: Readonly<Record<string, ExportProblem>> = {
  ENOENT: 'missing',
  ENOTDIR: 'not_a_directory',
  EACCES: 'not_permitted',
  EPERM: 'not_permitted',
  EROFS: 'not_permitted',
  ENOSPC: 'disk_full',
  EDQUOT: 'disk_full',
  // Larger than a file may become here.
  EFBIG: 'disk_full',
};

/** The operating system's word for what happened. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'syscall' in error && 'code' in error ? String(error.code) : undefined;
}

/** An error of the file system as the port's; any other as it came. */
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
