/** Reads adapters/http/openapi.json: its operations with resolved references, and validators for its schemas. */

import { readFileSync } from 'node:fs';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseIsoDuration } from '../../../domain/duration.ts';

const DOCUMENT_PATH = new URL('../../../adapters/http/openapi.json', import.meta.url);

type Node = Readonly<Record<string, unknown>>;

/** Its `summary` is ignored. */
interface Example {
  readonly value: unknown;
}

interface Media {
  readonly schema: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly example?: unknown;
}

export interface Described {
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>;
}

/** A value in the document, and the JSON pointer to it after its references are resolved. */
export interface Placed<Value> {
  readonly value: Value;
  readonly pointer: string;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The security scheme; `undefined` if the operation needs none. */
  readonly scheme: string | undefined;
  /** The roles of operators that may call it. */
  readonly roles: readonly string[];
  readonly parameters: readonly Placed<Parameter>[];
  readonly body: Placed<Described> | undefined;
  readonly responses: ReadonlyMap<number, Placed<Described>>;
}

export const apiDocument = JSON.parse(readFileSync(DOCUMENT_PATH, 'utf8')) as Node;

export const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Reads the value at a pointer, and resolves its references. @throws if the pointer leads nowhere */
export function nodeAt<Value = Node>(pointer: string): Placed<Value> {
  const names = pointer.split('/').slice(1).map(unescaped);
  const node = names.reduce<unknown>((parent, name) => (isNode(parent) ? parent[name] : undefined), apiDocument);
  if (node === undefined) throw new Error(`nothing at ${pointer}`);
  return isNode(node) && typeof node.$ref === 'string'
    ? nodeAt<Value>(node.$ref.slice(1))
    : { value: node as Value, pointer };
}

export function below(pointer: string, ...names: readonly string[]): string {
  return [pointer, ...names.map((name) => name.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}

function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

/** All operations, in the order of the document. */
export const operations: readonly Operation[] = namesAt('/paths').flatMap((path) => {
  const item = below('/paths', path);
  return methods.flatMap((method) => (namesAt(item).includes(method) ? [operationAt(path, method)] : []));
});

function operationAt(path: string, method: string): Operation {
  const item = below('/paths', path);
  const pointer = below(item, method);
  const { operationId, security } = nodeAt<{
    operationId: string;
    security: readonly Readonly<Record<string, readonly string[]>>[];
  }>(pointer).value;
  return {
    id: operationId,
    method,
    path,
    scheme: Object.keys(security[0] ?? {})[0],
    roles: security.flatMap(({ operatorToken }) => operatorToken ?? []),
    parameters: [item, pointer].flatMap((place) =>
      namesAt(below(place, 'parameters'), []).map((at) => nodeAt<Parameter>(below(place, 'parameters', at))),
    ),
    body: namesAt(pointer).includes('requestBody') ? nodeAt<Described>(below(pointer, 'requestBody')) : undefined,
    responses: responsesAt(below(pointer, 'responses')),
  };
}

function responsesAt(pointer: string): ReadonlyMap<number, Placed<Described>> {
  return new Map(namesAt(pointer).map((status) => [Number(status), nodeAt<Described>(below(pointer, status))]));
}

/** @throws if no operation has this id */
export function operationOf(id: string): Operation {
  const operation = operations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`no operation ${id}`);
  return operation;
}

function namesAt(pointer: string, otherwise?: readonly string[]): readonly string[] {
  if (otherwise === undefined) return Object.keys(nodeAt(pointer).value);
  try {
    return Object.keys(nodeAt(pointer).value);
  } catch {
    return otherwise;
  }
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

const ajv = new Ajv2020({
  allErrors: true,
  // The document has members that are not keywords of JSON Schema.
  strict: false,
  validateSchema: false,
  formats: {
    uri: (text: string) => URL.canParse(text),
    duration: (text: string) => parseIsoDuration(text) !== undefined,
    'date-time': (text: string) => DATE_TIME.test(text) && !Number.isNaN(Date.parse(text)),
  },
});
ajv.addSchema({ ...apiDocument, $id: 'api' });

const validators = new Map<string, ValidateFunction>();

/** Describes how a value violates the schema at the pointer; `undefined` if it is valid. */
export function problemsOf(pointer: string, value: unknown): string | undefined {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api#${encodeURI(pointer)}` });
  validators.set(pointer, validate);
  return validate(value) ? undefined : `${pointer}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`;
}

interface PlacedExample {
  readonly pointer: string;
  readonly schema: string;
  readonly value: unknown;
}

/** The examples of a request body or a response. */
export function examplesOf({ value, pointer }: Placed<Described>): readonly PlacedExample[] {
  return Object.entries(value.content ?? {}).flatMap(([type, { examples = {} }]) => {
    const media = below(pointer, 'content', type);
    return Object.entries(examples).map(([name, example]) => ({
      pointer: below(media, 'examples', name),
      schema: below(media, 'schema'),
      value: example.value,
    }));
  });
}

/** The responses of the service to requests for any path. */
export const anyPathResponses = responsesAt('/x-any-path/responses');

/** The response of the service to a request for any path. @throws if the document has none with this status */
export function anyPathResponse(status: number): Placed<Described> {
  const response = anyPathResponses.get(status);
  if (response === undefined) throw new Error(`no answer ${status} on any path`);
  return response;
}

/** The names of the examples of an operation's response with this status. */
export function exampleNames({ responses }: Operation, status: number): readonly string[] {
  const response = responses.get(status);
  return response === undefined ? [] : examplesOf(response).map(({ pointer }) => pointer.split('/').at(-1) ?? '');
}

/** A separate listener serves the metrics. */
export const METRICS = operationOf('getMetrics');

/** The operations of the main port. */
export const served = operations.filter((operation) => operation !== METRICS);
