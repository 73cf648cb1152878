/** The part of the chart's values.schema.json that lists the settings: those of the catalogue that are not secret. */

import { readFileSync, writeFileSync } from 'node:fs';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import { variableOf } from '../../../composition/settings/startup-error.ts';

export const CHART = new URL('../../../docs/examples/deploy/helm/', import.meta.url);
const SCHEMA = new URL('values.schema.json', CHART);

/** Settings that the templates set, or that would contradict them: the ports, the database, the mounted files. */
const OF_THE_CHART = /^(HOST|PORT|NODE_ENV|Service:Database:(Provider|Path)|Service:Secrets:Path|Service:Signing:.*)$/;

export const settingsOfValues: readonly string[] = Object.entries(catalogue)
  .filter(([key, { type }]) => !type.secret && !OF_THE_CHART.test(key))
  .map(([key]) => variableOf(key));

export const readSchema = () => JSON.parse(readFileSync(SCHEMA, 'utf8'));

/** Writes the names of the settings anew, in one line: `npm run format` then formats the file. */
export function writeSettings(): void {
  const schema = readSchema();
  schema.properties.settings.properties = Object.fromEntries(
    settingsOfValues.map((name) => [name, { $ref: '#/definitions/setting' }]),
  );
  writeFileSync(SCHEMA, JSON.stringify(schema));
}
