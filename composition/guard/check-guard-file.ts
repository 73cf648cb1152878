/** Checks the file of the guard, as `--check` does. */

import { describeFileProblem } from '../../adapters/cli/agent-files/read-agent-files.ts';
import { FILE_LIMITS, readYamlFile } from '../../adapters/cli/agent-files/yaml-file.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { guardFileFaults, overlapping, patternsOf } from '../../adapters/sdk/tool-server/guard/configuration.ts';

/** Two readers of YAML can repeat an anchored value differently, and each field here is a decision about access. */
const CONTENT = { limits: { ...FILE_LIMITS, aliases: 0 }, mapping: "the guard's fields" };

interface Checked {
  readonly code: typeof exitCode.done | typeof exitCode.usage;
  /** The faults of a file that cannot be used; otherwise the overlaps of its patterns. */
  readonly lines: readonly string[];
}

/** @param file the path, as the command line names it */
export async function checkGuardFile(file: string): Promise<Checked> {
  const refused = (line: number | undefined, sentence: string) =>
    describeFileProblem({ file, line, field: undefined, sentence });
  const read = await readYamlFile(file, CONTENT);
  if (read.kind === 'unusable') return { code: exitCode.usage, lines: [refused(undefined, read.sentence)] };
  const { documents } = read;
  const isEmpty = documents.mappings.length === 0 && documents.problems.length === 0;
  if (isEmpty) return { code: exitCode.usage, lines: [refused(undefined, 'Is empty.')] };
  const faults = guardFileFaults(documents);
  if (faults.length > 0)
    return { code: exitCode.usage, lines: faults.map(({ line, clause }) => refused(line, clause)) };
  const overlaps = overlapping(documents.mappings.flatMap(patternsOf));
  const lines = overlaps.map(([first, later]) =>
    refused(later.line, `${later.pattern} overlaps ${first.pattern} in line ${first.line}, which wins.`),
  );
  return { code: exitCode.done, lines };
}
