/** The JSON Schema of the guard's file, and its table in docs/guard.md, from the rows of its fields. */

import { FIELDS, FILE, type Field } from '../../../../../adapters/sdk/tool-server/guard/configuration.ts';
import { PROXY_ONLY } from '../../../../../adapters/sdk/tool-server/guard/file-faults.ts';
import { fieldOf } from '../../../../../adapters/sdk/tool-server/guard/kind.ts';
import { DEFINITIONS } from '../../../../../adapters/sdk/tool-server/guard/value-kinds.ts';
import type { Json } from '../../../../../domain/tokens/strict-json.ts';

/** @param value what the JSON Schema says of the member, if it says more than that it is there */
const has = (name: string, value?: Json) =>
  value === undefined ? { required: [name] } : { required: [name], properties: { [name]: value } };

const anApproval = has('approval');
const never = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, false]));
// biome-ignore lint/suspicious/noThenProperty: JSON Schema has this name, and no promise is near.
const implies = (condition: Json, consequence: Json) => ({ if: condition, then: consequence });

/**
 * The fields, then what they require of each other: the same rules as `relationFaults` of
 * adapters/sdk/tool-server/guard/file-faults.ts.
 */
export const guardSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'The file of mandate-guard',
  ...FILE.schema,
  anyOf: [has('routes', { minItems: 1 }), has('mcp')],
  allOf: [
    implies(has('mode', { const: 'proxy' }), has('upstream')),
    implies(has('mode', { const: 'decide' }), {
      properties: { ...never(PROXY_ONLY), routes: { items: { properties: never(['approval', 'arguments']) } } },
    }),
    {
      properties: {
        routes: { items: implies(has('match', { pattern: '^(?:GET|HEAD) ' }), { properties: never(['arguments']) }) },
      },
    },
    implies(
      {
        anyOf: [
          has('routes', { contains: anApproval }),
          has('mcp', has('tools', { not: { additionalProperties: { not: anApproval } } })),
        ],
      },
      has('approval_key'),
    ),
  ],
  $defs: Object.fromEntries(Object.entries(DEFINITIONS).map(([name, { schema }]) => [name, schema])),
};

const fields = Object.entries<Field<unknown>>(FIELDS);

export const fixedFields = fields.filter(([, { isFixed }]) => isFixed).map(([name]) => `\`${fieldOf(name)}\``);

const rows = fields.map(([name, { schema, isOptional, meaning, ...traits }]) => {
  const required = isOptional ? traits.required && `required ${traits.required}` : 'required';
  const preset = typeof schema.default === 'string' ? `\`${schema.default}\`` : schema.default;
  return `| \`${fieldOf(name)}\` | ${required ?? preset ?? 'none'} | ${meaning} |\n`;
});
export const fieldsTable = ['| Field | Default | Meaning |\n', '|---|---|---|\n', ...rows].join('');
