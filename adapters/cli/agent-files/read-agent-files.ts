/**
 * Reads files of agents: one registration per document, any number of documents per file. Reports all errors together.
 */

import { createReadStream } from 'node:fs';
import type { JudgedDeclaration } from '../../../application/admin/apply-declarations.ts';
import type { Declaration } from '../../../domain/agents/declaration.ts';
import type { RegistrationVerdict } from '../../../domain/agents/registration.ts';
import { declaredAgent } from './declared-agent.ts';
import type { FileProblem } from './file-problem.ts';
import { readYaml, type YamlMapping, type YamlReading } from './yaml-documents.ts';

/** Enough for thousands of agents. */
const MAX_BYTES = 4 * 1_048_576;
const utf8 = new TextDecoder('utf-8', { fatal: true });

export type AgentFiles =
  | { readonly kind: 'sound'; readonly agents: readonly JudgedDeclaration[] }
  | { readonly kind: 'wrong'; readonly problems: readonly FileProblem[] };

/** @param judge checks the rules of a registration as a whole */
export async function readAgentFiles(
  files: readonly string[],
  judge: (declaration: Declaration) => Promise<RegistrationVerdict>,
): Promise<AgentFiles> {
  const problems: FileProblem[] = [];
  const agents: JudgedDeclaration[] = [];
  /** The first declaration of each agent. */
  const places = new Map<string, string>();
  for (const file of files) {
    const { mappings, problems: found } = await readFile(file);
    problems.push(...found);
    for (const mapping of mappings) {
      const judged = await judgeMapping(mapping, judge);
      if (judged.kind === 'wrong') problems.push(...judged.problems.map((problem) => ({ file, ...problem })));
      else agents.push(judged.agent);
      const agentId = mapping.fields.get('agent_id');
      if (typeof agentId?.value !== 'string') continue;
      const { line } = agentId;
      const other = places.get(agentId.value);
      if (other === undefined) places.set(agentId.value, `${file}:${line}`);
      else problems.push({ file, line, field: 'agent_id', sentence: `Is already declared at ${other}.` });
    }
  }
  return problems.length === 0 ? { kind: 'sound', agents } : { kind: 'wrong', problems };
}

interface ReadFile {
  readonly mappings: readonly YamlMapping[];
  readonly problems: readonly FileProblem[];
}

async function readFile(file: string): Promise<ReadFile> {
  const whole = (sentence: string): ReadFile => ({
    mappings: [],
    problems: [{ file, line: undefined, field: undefined, sentence }],
  });
  const bytes = await bytesOf(file);
  if (bytes === undefined) return whole('Cannot be read.');
  if (bytes.length > MAX_BYTES) return whole(`Is longer than ${MAX_BYTES} bytes.`);
  let reading: YamlReading;
  try {
    reading = readYaml(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof TypeError) return whole('Is not text in UTF-8.');
    if (error instanceof RangeError) return whole('Is nested too deeply.');
    throw error;
  }
  const { mappings, problems } = reading;
  if (mappings.length === 0 && problems.length === 0) return whole('Contains no registration.');
  return { mappings, problems: problems.map((problem) => ({ file, field: undefined, ...problem })) };
}

async function bytesOf(file: string): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  try {
    // Reads one byte more than the limit to detect a longer file; a device never ends.
    for await (const chunk of createReadStream(file, { end: MAX_BYTES })) chunks.push(chunk);
    return Buffer.concat(chunks);
  } catch {
    return undefined;
  }
}

type JudgedMapping =
  | { readonly kind: 'sound'; readonly agent: JudgedDeclaration }
  | { readonly kind: 'wrong'; readonly problems: readonly Omit<FileProblem, 'file'>[] };

/** Fields that are checked together. */
const TOGETHER: readonly (readonly string[])[] = [
  ['max_task_ttl', 'max_token_ttl'],
  ['jwks', 'jwks_uri'],
];

/** Checks the form of each field and the rules of the whole, and reports both. */
async function judgeMapping(
  mapping: YamlMapping,
  judge: (declaration: Declaration) => Promise<RegistrationVerdict>,
): Promise<JudgedMapping> {
  const { declaration, problems } = declaredAgent(mapping);
  const verdict = await judge(declaration);
  if (verdict.kind === 'valid' && problems.length === 0) {
    return { kind: 'sound', agent: { declaration, registration: verdict.registration } };
  }
  // The rules skip an unreadable field, and the fields that are checked together with it.
  const faulty = new Set([...mapping.unread, ...problems.map(({ field }) => field)]);
  for (const fields of TOGETHER)
    if (fields.some((field) => faulty.has(field))) for (const field of fields) faulty.add(field);
  const more = (verdict.kind === 'valid' ? [] : verdict.errors).filter(({ field }) => !faulty.has(field));
  const ofRules = more.map(({ field, sentence }) => ({
    line: mapping.fields.get(field)?.line ?? mapping.line,
    field,
    sentence,
  }));
  return { kind: 'wrong', problems: [...problems, ...ofRules] };
}
