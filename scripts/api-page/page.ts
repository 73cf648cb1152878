/** Renders the OpenAPI document as docs/api.md. */

import {
  type ApiDocument,
  type ApiResponse,
  isReference,
  type Media,
  nameOf,
  operationsOf,
  type Placed,
  type Reference,
  resolved,
} from './document.ts';
import { anchorOf, fenced, jsonText, table, wrapped } from './markdown.ts';
import { schemaSection, typeText } from './schema-text.ts';

/** The command that writes the page, which the page's first paragraph quotes. */
export const MAKE_PAGE = 'npx tsx scripts/api-page/main.ts';

export function apiPage(document: ApiDocument): string {
  const operations = operationsOf(document);
  const sections = [
    '# HTTP API',
    `This page is made from \`adapters/http/openapi.json\`, which the package has as \`mandate/openapi.json\`. After a\nchange there, run \`${MAKE_PAGE}\`. [Refusals](refusals.md) has the sentence of each reason.`,
    document.info.description,
    '## Credentials',
    table(
      ['Name', 'Bearer credential'],
      Object.entries(document.components.securitySchemes).map(([name, { description }]) => [name, description]),
    ),
    'Agents authenticate in the form of the request (`private_key_jwt`).',
    '## Paths',
    table(['Request', 'Purpose', 'Credential'], operations.map(pathRow)),
    ...document.tags.flatMap(({ name, description }) => [
      `## ${name}`,
      description,
      ...operations
        .filter(({ tags }) => tags.includes(name))
        .flatMap((operation) => operationSection(document, operation)),
    ]),
    '## On any path',
    document['x-any-path'].description,
    ...responsesSection(document, document['x-any-path'].responses),
    '## Shared answers',
    'The errors that many requests share. The tables above have their headers and schemas.',
    ...Object.entries(document.components.responses).flatMap(([name, response]) => [
      `### ${name}`,
      ...errorsTable([['', response]]),
    ]),
    '## Headers',
    'A name in parentheses in a table above is not in every answer with that status.',
    headersTable(document),
    '## Schemas',
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => schemaSection(name, schema)),
  ];
  return `${sections.map(wrapped).join('\n\n')}\n`;
}

function pathRow({ method, path, summary, security }: Placed): readonly string[] {
  const [scheme = ''] = Object.keys(security[0] ?? {});
  return [`[${method} ${path}](#${anchorOf(`${method} ${path}`)})`, summary, scheme];
}

function operationSection(document: ApiDocument, operation: Placed): readonly string[] {
  const { method, path, summary, description, parameters, requestBody, responses, item } = operation;
  const rows = parameters.map((node) => {
    const { name, in: where, required = false, description: meaning = '', schema } = resolved(document, node);
    return [`\`${name}\``, where, required ? 'yes' : '', typeText(schema), meaning];
  });
  return [
    `### ${method} ${path}`,
    `${summary}.`,
    ...(description === undefined ? [] : [description]),
    ...(item.servers ?? []).map((server) => `At \`${server.url}\`: ${server.description}`),
    ...(rows.length === 0 ? [] : [table(['Parameter', 'In', 'Required', 'Type', 'Meaning'], rows)]),
    ...Object.entries(requestBody?.content ?? {}).flatMap(([type, media]) => requestText(type, media)),
    ...responsesSection(document, responses),
  ];
}

function requestText(type: string, { schema, examples = {} }: Media): readonly string[] {
  return [
    `Body: \`${type}\`, ${typeText(schema)}.`,
    ...(schema.properties === undefined ? [] : schemaSection(undefined, schema)),
    ...Object.values(examples).flatMap(({ summary, value }) => [
      ...(summary === undefined ? [] : [`${summary}:`]),
      type.includes('form') ? formText(value) : codeOf(value),
    ]),
  ];
}

function responsesSection(
  document: ApiDocument,
  responses: Readonly<Record<string, ApiResponse | Reference>>,
): readonly string[] {
  const entries = Object.entries(responses);
  const rows = entries.map(([status, node]) => {
    const response = resolved(document, node);
    const shared = isReference(node) ? ` [${nameOf(node)}](#${anchorOf(nameOf(node))})` : '';
    return [status, `${response.description}${shared}`, headersOf(document, response), bodyOf(response)];
  });
  const own = entries.flatMap(([status, node]) => (isReference(node) ? [] : [[status, node] as const]));
  const [good, bad] = [own.filter(([status]) => status < '400'), own.filter(([status]) => status >= '400')];
  return [
    table(['Status', 'When', 'Headers', 'Body'], rows),
    ...good.flatMap(([status, response]) => bodiesOf(status, response)),
    ...errorsTable(bad),
  ];
}

/** A table with a row for each example of an error. */
function errorsTable(responses: readonly (readonly [status: string, response: ApiResponse])[]): readonly string[] {
  const rows = responses.flatMap(([status, response]) =>
    examplesOf(response).map(({ name, example }) => {
      const cells = [name.replaceAll('_', ' '), `\`${compact(example.value)}\``];
      return status === '' ? cells : [status, ...cells];
    }),
  );
  const head = ['Case', 'Example of the body'];
  return rows.length === 0 ? [] : [table(rows[0]?.length === head.length ? head : ['Status', ...head], rows)];
}

function compact(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The names of the response's headers. Those that some responses lack are in parentheses. */
function headersOf(document: ApiDocument, { headers = {} }: ApiResponse): string {
  const names = Object.entries(headers).map(([name, node]) => {
    const { required = false } = resolved(document, node);
    return required ? name : `(${name})`;
  });
  return names.join(', ');
}

/** A table of all headers of the document by name, with each of their descriptions. */
function headersTable(document: ApiDocument): string {
  const everywhere = [
    ...operationsOf(document).map(({ responses }) => responses),
    document['x-any-path'].responses,
  ].flatMap((responses) => Object.values(responses).map((node) => resolved(document, node)));
  const rows = new Map<string, Set<string>>();
  for (const [name, node] of everywhere.flatMap(({ headers = {} }) => Object.entries(headers))) {
    const { description = '', schema } = resolved(document, node);
    rows.set(name, (rows.get(name) ?? new Set()).add(`${typeText(schema)}: ${description}`));
  }
  return table(
    ['Header', 'Values'],
    [...rows].map(([name, texts]) => [name, [...texts].join('<br>')]),
  );
}

function bodyOf({ content = {} }: ApiResponse): string {
  const media = Object.entries(content).map(([type, { schema }]) => `\`${type}\` ${typeText(schema)}`);
  return media.length === 0 ? 'none' : media.join('<br>');
}

function examplesOf({ content = {} }: ApiResponse) {
  return Object.values(content).flatMap(({ examples = {} }) =>
    Object.entries(examples).map(([name, example]) => ({ name, example })),
  );
}

/** The examples of a response. One that equals the example before it is left out. */
function bodiesOf(status: string, response: ApiResponse): readonly string[] {
  const examples = examplesOf(response);
  return examples.flatMap(({ name, example: { summary, value } }, at) =>
    at > 0 && compact(examples[at - 1]?.example.value) === compact(value)
      ? []
      : [`${status}, ${summary ?? name.replaceAll('_', ' ')}:`, codeOf(value)],
  );
}

function codeOf(value: unknown): string {
  return typeof value === 'string' ? fenced('', value) : fenced('json', jsonText(value));
}

function formText(value: unknown): string {
  const parameters = Object.entries(value as Readonly<Record<string, string>>);
  return fenced('', parameters.map(([name, text]) => `${name}=${encodeURIComponent(text)}`).join('\n&'));
}
