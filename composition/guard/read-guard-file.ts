/** Reads the file of the guard. */

import {
  describeFileProblem,
  FILE_LIMITS,
  readYamlFile,
  type YamlContent,
} from '../../adapters/cli/agent-files/yaml-file.ts';
import {
  guardFileFaults,
  overlapping,
  patternsOf,
  unservedFaults,
} from '../../adapters/sdk/tool-server/guard/configuration.ts';
import { type GuardConfiguration, readConfiguration } from '../../adapters/sdk/tool-server/guard/read-configuration.ts';

/** Two readers of YAML can repeat an anchored value differently, and each field here is a decision about access. */
const CONTENT: YamlContent = { limits: { ...FILE_LIMITS, aliases: 0 }, mapping: "the guard's fields" };

export type GuardFile =
  | {
      readonly kind: 'usable';
      readonly configuration: GuardConfiguration;
      /** A line for each two patterns that some request matches. */
      readonly overlaps: readonly string[];
    }
  | { readonly kind: 'unusable'; readonly faults: readonly string[] };

/** @param file the path, as the command line names it */
export async function readGuardFile(file: string): Promise<GuardFile> {
  const place = (line: number | undefined, sentence: string) =>
    describeFileProblem({ file, line, field: undefined, sentence });
  const whole = (sentence: string): GuardFile => ({ kind: 'unusable', faults: [place(undefined, sentence)] });
  const read = await readYamlFile(file, CONTENT);
  if (read.kind === 'unusable') return whole(read.sentence);
  const { mappings, problems } = read.documents;
  const [mapping] = mappings;
  if (mapping === undefined && problems.length === 0) return whole('Is empty.');
  const ofForm = guardFileFaults(read.documents);
  const faults = ofForm.length > 0 || mapping === undefined ? ofForm : unservedFaults(mapping);
  if (mapping === undefined || faults.length > 0) {
    return { kind: 'unusable', faults: faults.map(({ line, clause }) => place(line, clause)) };
  }
  const overlaps = overlapping(patternsOf(mapping)).map(([first, later]) =>
    place(later.line, `${later.pattern} overlaps ${first.pattern} in line ${first.line}, which wins.`),
  );
  return { kind: 'usable', configuration: readConfiguration(mapping), overlaps };
}
