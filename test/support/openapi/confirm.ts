/** Compares real answers with the OpenAPI document: status, headers, media type, schema and example. */

import { expect } from 'chai';
import type { Answer } from '../mandate.ts';
import { below, type Described, examplesOf, nodeAt, type Operation, type Placed, problemsOf } from './api-document.ts';

/** The document must list these headers for each response that has them. */
const LISTED_HEADERS = [
  'cache-control',
  'pragma',
  'retry-after',
  'www-authenticate',
  'location',
  'allow',
  'etag',
].concat('access-control-allow-origin');

/** Statuses that tests have seen, as `operationId status`, and pointers to examples that tests have seen. */
const seen = new Set<string>();

export function wasSeen(key: string): boolean {
  return seen.has(key);
}

/** @param example the name of an example that the answer must equal, except for ids, tokens and times */
export function confirm(operation: Operation, answer: Answer, example?: string): void {
  const response = operation.responses.get(answer.status);
  if (response === undefined) throw new Error(`${operation.id} answered ${answer.status}: ${answer.text}`);
  confirmResponse(response, answer, example, operation.id);
  seen.add(`${operation.id} ${answer.status}`);
}

export function confirmResponse(
  response: Placed<Described>,
  answer: Answer,
  example: string | undefined,
  what: string,
): void {
  const label = `${what} ${answer.status}`;
  confirmHeaders(response, answer, label);
  const { content } = response.value;
  if (content === undefined) {
    expect(answer.text, label).to.equal('');
    return;
  }
  const type = answer.headers.get('content-type')?.split(';')[0] ?? 'none';
  expect(Object.keys(content), label).to.include(type);
  const body = /json/.test(type) ? answer.body : answer.text;
  const media = below(response.pointer, 'content', type);
  expect(problemsOf(below(media, 'schema'), body), label).to.equal(undefined);
  if (example === undefined) return;
  const found = examplesOf(response).find(({ pointer }) => pointer === below(media, 'examples', example));
  if (found === undefined) throw new Error(`${label} has no example ${example} in ${type}`);
  expect(settled(body), `${label} ${example}`).to.deep.equal(settled(found.value));
  seen.add(found.pointer);
}

function confirmHeaders({ value, pointer }: Placed<Described>, { headers }: Answer, label: string): void {
  const documented = Object.keys(value.headers ?? {});
  for (const name of documented) {
    const header = nodeAt<{ readonly required?: boolean }>(below(pointer, 'headers', name));
    const text = headers.get(name);
    if (header.value.required === true) expect(text, `${label} ${name}`).not.to.equal(null);
    if (text === null) continue;
    const parsed = /^\d+$/.test(text) ? Number(text) : text;
    expect(problemsOf(below(header.pointer, 'schema'), parsed), `${label} ${name}`).to.equal(undefined);
  }
  const present = LISTED_HEADERS.filter((name) => headers.has(name));
  expect(
    documented.map((name) => name.toLowerCase()),
    `${label} headers`,
  ).to.include.members(present);
}

/** Members with the hashes of a proof. */
const PATHS = ['audit_path', 'inclusion_path'];

/** Members of these names have other values in each run. */
const VARYING = new Set([
  'explains',
  'salt',
  'exp',
  'iat',
  'idx',
  'seq',
  'last_seq',
  'tree_size',
  'leaf_index',
  'kid',
  'x',
  'y',
  'vkey',
  'checkpoint_index',
]);

/** Replaces ids, tokens, hashes and times by their kinds, so that two runs are equal. */
export function settled(value: unknown, name = ''): unknown {
  if (VARYING.has(name)) return `<${name}>`;
  if (typeof value === 'string') return kindOf(value);
  if (Array.isArray(value)) {
    // The number of hashes in a proof depends on the number of sealed records.
    if (PATHS.includes(name)) return [...new Set(value.map(kindOf))];
    // The numbers of a task's records.
    return value.map((item) => settled(item, typeof item === 'number' ? 'seq' : ''));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, settled(member, key)]));
}

function kindOf(text: string): string {
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text) && text.startsWith('eyJ')) return '<jwt>';
  return text
    .replace(/\b(task|tok|user|approval)_[0-9A-HJKMNP-TV-Z]{26}\b/g, '<$1>')
    .replace(/^task_grant_[\w-]{43}$/, '<grant>')
    .replace(/^task_grant_[\w-]{43}\.[\w-]{43}$/, '<rotating grant>')
    .replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, '<time>')
    .replace(/\/status\/[\w-]{22}$/, '/status/<list>')
    .replace(/^\S+\n\d+\n\S+=\n\n— \S+ \S+\n$/, '<note>')
    .replace(/^(http:\/\/127\.0\.0\.1:\d+|https:\/\/idp\.example\/realms\/main)$/, '<provider>')
    .replace(/^[0-9a-f]{64}$/, '<hash>')
    .replace(/^[0-9a-f]{128}$/, '<signature>');
}
