/** The parts of an OpenAPI document that docs/api.md shows. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  /** The reasons of each error code. */
  readonly 'x-reasons'?: Readonly<Record<string, readonly string[]>>;
}

export interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

export interface Media {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Reference {
  readonly $ref: string;
}

export interface Header {
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

type Responses = Readonly<Record<string, ApiResponse | Reference>>;

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Responses;
}

interface PathItem {
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly servers?: readonly { readonly url: string; readonly description: string }[];
  readonly [method: string]: unknown;
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
    readonly responses: Readonly<Record<string, ApiResponse>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
  readonly 'x-any-path': { readonly description: string; readonly responses: Responses };
}

/** An operation with its method and path. */
export interface Placed extends Omit<Operation, 'parameters'> {
  readonly method: string;
  readonly path: string;
  readonly item: PathItem;
  readonly parameters: readonly (Parameter | Reference)[];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

export function operationsOf({ paths }: ApiDocument): readonly Placed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method] as Operation | undefined;
      if (operation === undefined) return [];
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      return [{ ...operation, method: method.toUpperCase(), path, item, parameters }];
    }),
  );
}

export function nameOf({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? '';
}

export function isReference(node: object): node is Reference {
  return '$ref' in node;
}

/** @throws if the reference names nothing */
export function resolved<Node extends object>(document: ApiDocument, node: Node | Reference): Node {
  if (!isReference(node)) return node;
  const names = node.$ref.split('/').slice(1);
  const found = names.reduce<unknown>(
    (parent, name) => (parent as Record<string, unknown> | undefined)?.[name],
    document,
  );
  if (typeof found !== 'object' || found === null) throw new Error(`nothing at ${node.$ref}`);
  return resolved(document, found as Node | Reference);
}
