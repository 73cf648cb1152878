/** Reads the file of the guard, and the key that it names. */

import { dirname, resolve } from 'node:path';
import { describeFileProblem, FILE_LIMITS, readYamlFile, type YamlContent } from '../../adapters/cli/yaml/yaml-file.ts';
import { readSigningKey } from '../../adapters/jose/signing-key.ts';
import { KeyFileUnusable, readKeyFile } from '../../adapters/platform/key-file.ts';
import type { ApprovalKey } from '../../adapters/sdk/tool-server/core/approval-key.ts';
import { type GuardConfiguration, readConfiguration } from '../../adapters/sdk/tool-server/guard/configuration.ts';
import { guardFileFaults } from '../../adapters/sdk/tool-server/guard/file-faults.ts';
import { literalNames, overlapsOf } from '../../adapters/sdk/tool-server/guard/file-remarks.ts';
import { fileSchemas, schemaFaultsOf, schemaRemarks } from '../../adapters/sdk/tool-server/guard/file-schemas.ts';
import type { Jwk } from '../../domain/agents/public-key.ts';
import type { PlacedMapping } from '../../domain/placed-mapping.ts';

/** Two readers of YAML can repeat an anchored value differently, and each field here is a decision about access. */
const CONTENT: YamlContent = { limits: { ...FILE_LIMITS, aliases: 0 }, mapping: "the guard's fields" };

type GuardFile =
  | {
      readonly kind: 'usable';
      readonly configuration: GuardConfiguration;
      /**
       * A line for each pattern that loses some request to an earlier one, and for each name that reads like a placeholder. Also
       * for schemas that may let more or less pass than meant.
       */
      readonly remarks: readonly string[];
      /** The public half of `approval_key`; `undefined` if the file names none. */
      readonly approvalJwk: Jwk | undefined;
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
  const path = mapping?.fields.get('approval_key')?.value;
  const key = typeof path === 'string' ? await readApprovalKey(resolve(dirname(file), path)) : undefined;
  const faults = [...guardFileFaults(read.documents)];
  if (typeof key === 'string') {
    faults.push({ line: mapping?.lineOf(['approval_key']) ?? 1, clause: `approval_key names a file that ${key}` });
  }
  const schemas = mapping && (await schemaParts(mapping));
  faults.push(...(schemas?.faults ?? []));
  if (mapping === undefined || typeof key === 'string' || faults.length > 0) {
    const inOrder = faults.sort((one, other) => one.line - other.line);
    return { kind: 'unusable', faults: inOrder.map(({ line, clause }) => place(line, clause)) };
  }
  const overlaps = overlapsOf(mapping).map(({ pattern, line, winner }) =>
    place(line, `${pattern} overlaps ${winner.name} in line ${winner.line}, which wins.`),
  );
  const literal = literalNames(mapping).map(({ line, name, taken }) =>
    place(line, `${name} has no placeholder: ${taken} matches only itself.`),
  );
  const ofSchemas = schemaRemarks(mapping).map(({ line, clause }) => place(line, `${clause}.`));
  const configuration = readConfiguration(mapping, key?.signer, schemas?.compileSchema);
  const remarks = [...overlaps, ...literal, ...ofSchemas];
  return { kind: 'usable', configuration, remarks, approvalJwk: key?.publicJwk };
}

/** The validator takes memory, and time at the start: only a file with a schema loads it. */
async function schemaParts(mapping: PlacedMapping) {
  if (fileSchemas(mapping).length === 0) return undefined;
  const { compileSchema } = await import('../../adapters/sdk/tool-server/schema/compiled.ts');
  const { patternFaults } = await import('../../adapters/sdk/tool-server/schema/patterns.ts');
  return { compileSchema, faults: schemaFaultsOf(mapping, patternFaults) };
}

interface ApprovalKeyFile {
  readonly signer: ApprovalKey;
  readonly publicJwk: Jwk;
}

/** @returns the problem of a file that cannot be used, without any part of the key */
async function readApprovalKey(path: string): Promise<ApprovalKeyFile | string> {
  try {
    const pem = await readKeyFile(path);
    if (pem === undefined) return 'does not exist';
    const read = await readSigningKey(pem);
    if (read.kind === 'unusable') return read.problem;
    if (read.kind === 'public_half') return 'holds only a public key';
    const { keyId: kid, publicJwk, sign } = read.key;
    return { signer: { alg: 'ES256', kid, sign: (input) => sign(Buffer.from(input)) }, publicJwk };
  } catch (error) {
    if (error instanceof KeyFileUnusable) return error.problem;
    throw error;
  }
}
