/**
 * Reads files of agents. Each document in a file is one registration. Reports all errors together. ../yaml/yaml-documents.ts
 * parses a file into fields with their line numbers. The rules of a field are those of the API, in `domain/agents`. So
 * an error has the API's sentence, and its line.
 */

import type { JudgedDeclaration } from '../../../application/admin/apply-declarations.ts';
import type { Declaration } from '../../../domain/agents/declaration.ts';
import { readMayActNames } from '../../../domain/agents/may-act-name.ts';
import type { RegistrationVerdict } from '../../../domain/agents/registration.ts';
import {
  DEFAULT_SPONSOR_REQUIRED,
  fieldShapes,
  MISSING_FIELD,
  type RegistrationField,
  requiredFields,
  shapeSentences,
  UNKNOWN_FIELD,
} from '../../../domain/agents/registration-draft.ts';
import { CLEARED } from '../../../domain/agents/registration-patch.ts';
import { parseIsoDuration } from '../../../domain/duration.ts';
import type { PlacedMapping } from '../../../domain/placed-mapping.ts';
import { isJsonObject, isTextList, type Json, type JsonObject } from '../../../domain/tokens/strict-json.ts';
import { findExcess, type YamlLimits } from '../yaml/yaml-documents.ts';
import {
  FILE_LIMITS,
  type FileProblem,
  readYamlBytes,
  readYamlFile,
  readYamlText,
  type YamlContent,
} from '../yaml/yaml-file.ts';

const CONTENT: YamlContent = { limits: FILE_LIMITS, mapping: 'the fields of one registration' };

type AgentFiles =
  | { readonly kind: 'sound'; readonly agents: readonly JudgedDeclaration[] }
  | { readonly kind: 'wrong'; readonly problems: readonly FileProblem[] };

/** Checks the rules of a registration as a whole. */
type Judge = (declaration: Declaration) => Promise<RegistrationVerdict>;

export async function readAgentFiles(files: readonly string[], judge: Judge): Promise<AgentFiles> {
  return judgeAll(await Promise.all(files.map(readFile)), judge);
}

/** The line at which a file that was sent exceeds limits that are stricter. @param file the name in the problem */
export function findExcessIn(file: string, bytes: Uint8Array, limits: Partial<YamlLimits>): FileProblem | undefined {
  const text = readYamlText(bytes);
  const excess = text === undefined ? undefined : findExcess(text, { ...FILE_LIMITS, ...limits });
  return excess && { file, field: undefined, ...excess };
}

/** Reads one file that was sent. @param file the name in the problems */
export function readAgentBytes(file: string, bytes: Uint8Array, judge: Judge): Promise<AgentFiles> {
  return judgeAll([{ file, ...found(file, readYamlBytes(bytes, CONTENT)) }], judge);
}

interface ReadFile {
  readonly mappings: readonly PlacedMapping[];
  readonly problems: readonly FileProblem[];
}

async function judgeAll(files: readonly (ReadFile & { readonly file: string })[], judge: Judge): Promise<AgentFiles> {
  const problems: FileProblem[] = [];
  const agents: JudgedDeclaration[] = [];
  /** Where each agent was first declared, as `file:line`. */
  const places = new Map<string, string>();
  for (const { file, mappings, problems: found } of files) {
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

async function readFile(file: string): Promise<ReadFile & { readonly file: string }> {
  return { file, ...found(file, await readYamlFile(file, CONTENT)) };
}

function found(file: string, read: Awaited<ReturnType<typeof readYamlFile>>): ReadFile {
  if (read.kind === 'unusable') return wholeFile(file, read.sentence);
  const { mappings, problems } = read.documents;
  if (mappings.length === 0 && problems.length === 0) return wholeFile(file, 'Contains no registration.');
  return { mappings, problems: problems.map((problem) => ({ file, field: undefined, ...problem })) };
}

function wholeFile(file: string, sentence: string): ReadFile {
  return { mappings: [], problems: [{ file, line: undefined, field: undefined, sentence }] };
}

type JudgedMapping =
  | { readonly kind: 'sound'; readonly agent: JudgedDeclaration }
  | { readonly kind: 'wrong'; readonly problems: readonly Omit<FileProblem, 'file'>[] };

/** Fields with rules in common. */
const TOGETHER: readonly (readonly string[])[] = [
  ['max_task_ttl', 'max_token_ttl'],
  ['jwks', 'jwks_uri', 'public_client', 'client_id_document'],
];

/** Checks the form of each field, then the rules of the registration, and reports the problems of both. */
async function judgeMapping(
  mapping: PlacedMapping,
  judge: (declaration: Declaration) => Promise<RegistrationVerdict>,
): Promise<JudgedMapping> {
  const { declaration, problems } = declaredAgent(mapping);
  const verdict = await judge(declaration);
  if (verdict.kind === 'valid' && problems.length === 0) {
    return { kind: 'sound', agent: { declaration, registration: verdict.registration } };
  }
  // Drops the rules' errors about a field of wrong form, and about fields with rules in common with it.
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

interface FieldProblem {
  readonly line: number;
  readonly field: string | undefined;
  readonly sentence: string;
}

interface ReadAgent {
  /** The registration, with a placeholder for each field of wrong form. */
  readonly declaration: Declaration;
  readonly problems: readonly FieldProblem[];
}

/** Field names that may be printed. Other text before a colon may be a misplaced secret. */
const NAME = /^[\w.-]{1,64}$/;

/** Parses one registration: all required fields, each in its form, and no others. Reports every problem. */
function declaredAgent(mapping: PlacedMapping): ReadAgent {
  const problems: FieldProblem[] = [];
  for (const [name, { line }] of mapping.fields) {
    if (Object.hasOwn(fieldShapes, name)) continue;
    problems.push({ line, field: NAME.test(name) ? name : undefined, sentence: UNKNOWN_FIELD });
  }
  for (const field of requiredFields) {
    if (!mapping.fields.has(field) && !mapping.unread.has(field))
      problems.push({ line: mapping.line, field, sentence: MISSING_FIELD });
  }
  const read = <Value>(field: RegistrationField, as: (value: Json) => Value | undefined): Value | undefined => {
    const found = mapping.fields.get(field);
    if (found === undefined) return undefined;
    const value = as(found.value);
    if (value === undefined) {
      problems.push({ line: found.line, field, sentence: shapeSentences[fieldShapes[field]] });
    }
    return value;
  };
  const declaration: Declaration = {
    agentId: read('agent_id', text) ?? '',
    displayName: read('display_name', text) ?? '',
    sponsorRequired: read('sponsor_required', boolean) ?? DEFAULT_SPONSOR_REQUIRED,
    allowedScopes: read('allowed_scopes', texts) ?? [],
    allowedAudiences: read('allowed_audiences', texts) ?? [],
    maxTaskTtl: read('max_task_ttl', seconds),
    maxTokenTtl: read('max_token_ttl', seconds),
    maxDelegationDepth: read('max_delegation_depth', integer) ?? 0,
    highRiskAudiences: read('high_risk_audiences', texts),
    jwksUri: read('jwks_uri', text),
    jwks: read('jwks', object),
    mayActNames: read('may_act_names', orCleared(readMayActNames)),
    redirectUris: read('redirect_uris', orCleared(texts)),
    publicClient: read('public_client', boolean),
    clientIdDocument: read('client_id_document', orCleared(text)),
    clientNames: read('client_names', orCleared(texts)),
    delegatesTo: read('delegates_to', orCleared(texts)),
    enabled: read('enabled', boolean),
  };
  return { declaration, problems };
}

function text(value: Json): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function boolean(value: Json): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function integer(value: Json): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

function seconds(value: Json): number | undefined {
  return typeof value === 'string' ? parseIsoDuration(value) : undefined;
}

function object(value: Json): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

function texts(value: Json): readonly string[] | undefined {
  return isTextList(value) ? value : undefined;
}

/** As in a `PATCH`, null removes the stored value. */
function orCleared<Value>(as: (value: Json) => Value | undefined): (value: Json) => Value | typeof CLEARED | undefined {
  return (value) => (value === null ? CLEARED : as(value));
}
