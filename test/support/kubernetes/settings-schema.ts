/** The part of the chart's values.schema.json that lists the settings: those of the catalogue that are not secret. */

import { readFileSync, writeFileSync } from 'node:fs';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { variableOf } from '../../../composition/settings/startup-error.ts';

export const CHART = new URL('../../../docs/examples/deploy/helm/', import.meta.url);
const SCHEMA = new URL('values.schema.json', CHART);

/** Settings that the templates set, or that would contradict them: the ports, the database, the mounted files. */
const OF_THE_CHART = /^(HOST|PORT|NODE_ENV|Service:Database:(Provider|Path)|Service:Secrets:Path|Service:Signing:.*)$/;

/** The largest number of a setting that belongs to a list. */
export const MAX_NUMBER = 63;
const NUMBERS = '([0-9]|[1-5][0-9]|6[0-3])';

/** The variables that `settings` accepts. One of a list has `N` for its number, and one for each name has `<name>`. */
export const settingsOfValues: readonly string[] = Object.entries(catalogue)
  .filter(([key, { type }]) => !type.secret && !OF_THE_CHART.test(key))
  .map(([key]) => variableOf(key));

const LIST = '__N__';
const NAME = '<name>';
const NAMES = '[-._A-Za-z0-9]{1,64}';
export const isNumbered = (variable: string) => variable.includes(LIST);
export const withNumber = (variable: string, number: number | string) => variable.replace(LIST, `__${number}__`);
export const isNamed = (variable: string) => variable.endsWith(NAME);
export const withName = (variable: string, name: string) => variable.replace(NAME, name);
const isPattern = (variable: string) => isNumbered(variable) || isNamed(variable);

const accepted = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: '#/definitions/setting' }]));

/** The members of the schema of `settings` that follow from the catalogue. */
export const membersOfSettings = {
  properties: accepted(settingsOfValues.filter((name) => !isPattern(name))),
  patternProperties: accepted(
    settingsOfValues.filter(isPattern).map((name) => `^${withName(withNumber(name, NUMBERS), NAMES)}$`),
  ),
};

export const readSchema = () => JSON.parse(readFileSync(SCHEMA, 'utf8'));

/** Writes the names of the settings anew, in one line: `npm run format` then formats the file. */
export function writeSettings(): void {
  const schema = readSchema();
  Object.assign(schema.properties.settings, membersOfSettings);
  writeFileSync(SCHEMA, JSON.stringify(schema));
}
