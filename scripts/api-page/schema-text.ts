/** Describes schemas in Markdown: a type in a few words, and a table of members. */

import { nameOf, type Schema } from './document.ts';
import { anchorOf, table } from './markdown.ts';

/** The type, values and limits of a schema, or a link to a named schema. */
export function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(schema.$ref);
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined) return alternatives.map(typeText).join(' or ');
  if (schema.const !== undefined) return codeOf(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(codeOf).join(', ');
  if (schema.items !== undefined) return [`array of ${typeText(schema.items)}`, ...limitsOf(schema)].join(', ');
  if (schema.type === undefined) return schema.allOf === undefined ? 'any' : 'object';
  const type = typeof schema.type === 'string' ? schema.type : schema.type.join(' or ');
  return [schema.format === undefined ? type : `${type} (${schema.format})`, ...limitsOf(schema)].join(', ');
}

/** @param name the heading. Without it, only the table of members is returned */
export function schemaSection(name: string | undefined, schema: Schema): readonly string[] {
  const parts = schema.allOf ?? [schema];
  const [named, own] = [parts.filter(({ $ref }) => $ref !== undefined), parts.flatMap(membersOf)];
  return [
    ...(name === undefined ? [] : [`### ${name}`]),
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(named.length === 0
      ? []
      : [`All members of ${named.map(typeText).join(' and ')}${own.length > 0 ? ', and:' : '.'}`]),
    ...(own.length === 0 ? [] : [table(['Member', 'Required', 'Type', 'Meaning'], own)]),
    ...reasonsTable(schema),
    ...(own.length === 0 && named.length === 0 ? [`Type: ${typeText(schema)}.`] : []),
  ];
}

function reasonsTable({ 'x-reasons': reasons }: Schema): readonly string[] {
  if (reasons === undefined) return [];
  const rows = Object.entries(reasons).map(([code, names]) => [codeOf(code), names.map(codeOf).join(', ')]);
  return [table(['Code', 'Reasons'], rows)];
}

function membersOf({ properties = {}, required = [] }: Schema): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const row = [`\`${name}\``, required.includes(name) ? 'yes' : '', typeText(schema), schema.description ?? ''];
    const inner = schema.items ?? schema;
    return [row, ...membersOf(inner).map(([member = '', ...rest]) => [`\`${name}.${member.slice(1)}`, ...rest])];
  });
}

function limitsOf(schema: Schema): readonly string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' items').map((text) => text.replace(/ 1 items$/, ' 1 item')),
    ...(schema.default === undefined ? [] : [`default ${codeOf(schema.default)}`]),
  ];
}

function range(least: number | undefined, most: number | undefined, unit: string): readonly string[] {
  if (least === undefined) return most === undefined ? [] : [`at most ${most}${unit}`];
  return [most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`];
}

function linkTo($ref: string): string {
  const name = nameOf({ $ref });
  return `[${name}](#${anchorOf(name)})`;
}

function codeOf(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
