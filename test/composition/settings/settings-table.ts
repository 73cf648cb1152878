/** Renders the settings catalogue as the tables of docs/configuration.md, one for each area. */

import { readFileSync, writeFileSync } from 'node:fs';
import { catalogue } from '../../../composition/settings/catalogue.ts';
import type { Setting } from '../../../composition/settings/setting.ts';

const PAGE = new URL('../../../docs/configuration.md', import.meta.url);

/** The headings of the page, and key prefixes of the settings below each. The longest matching prefix decides. */
export const areas: Readonly<Record<string, readonly string[]>> = {
  'This service': ['Service:Issuer', 'Service:Secrets', 'HOST', 'PORT', 'NODE_ENV'],
  'The identity provider': ['Service:UpstreamIdp'],
  'Signals of the provider': ['Service:UpstreamIdp:BackchannelLogout', 'Service:Scim', 'Service:Ssf'],
  'The database': ['Service:Database'],
  'Signing keys': ['Service:Signing'],
  'The admin API': ['Service:Admin'],
  'Operators with names': ['Service:Operators'],
  "The operators' console": ['Service:Console'],
  'Agents and tasks': ['Service:Tokens', 'Service:Agents', 'Service:AgentKeys', 'Service:Exchange', 'Service:Tasks'],
  'Status lists': ['Service:StatusLists'],
  "The person's own surface": ['Service:Me'],
  'Tasks that a person starts': ['Service:Authorize'],
  Approvals: ['Service:Approvals'],
  'Sub-agents': ['Service:Delegation'],
  'The ledger': ['Service:Audit'],
  'Rate limits and overload': ['Service:RateLimit', 'Service:Overload'],
  Metrics: ['Service:Metrics'],
  Traces: ['Service:Traces'],
};

const entries: readonly (readonly [string, Setting])[] = Object.entries(catalogue);

/** @throws if no area has a prefix of the key that ends at a colon or with the key */
function areaOf(key: string): string {
  const fitting = Object.entries(areas).flatMap(([area, beginnings]) =>
    beginnings.filter((one) => key === one || key.startsWith(`${one}:`)).map((beginning) => ({ area, beginning })),
  );
  const [best] = fitting.sort((one, other) => other.beginning.length - one.beginning.length);
  if (best === undefined) throw new Error(`no area of docs/configuration.md has ${key}`);
  return best.area;
}

/** A Markdown table of the settings of an area, or of all, in the order of the catalogue, with a final line break. */
export function settingsTable(area?: string): string {
  const rows = entries
    .filter(([key]) => area === undefined || areaOf(key) === area)
    .map(([key, setting]) => [
      `\`${key}\``,
      setting.type.secret ? `secret: ${setting.type.accepts}` : setting.type.accepts,
      defaultOf(setting),
      setting.meaning,
    ]);
  return [['Setting', 'Accepted', 'Default', 'Meaning'], ['---', '---', '---', '---'], ...rows].map(line).join('');
}

/** The page, with the table of each area replaced by the current one. */
export function withTables(page: string): string {
  return Object.keys(areas).reduce((text, area) => {
    const pattern = new RegExp(`(^## ${area}\\n(?:(?!^## )[^|\\n].*\\n|\\n)*)(?:^\\|.*\\n)+`, 'm');
    if (!pattern.test(text)) throw new Error(`docs/configuration.md has no table below ${area}`);
    return text.replace(pattern, (_, before: string) => `${before}${settingsTable(area)}`);
  }, page);
}

export function writeTables(): void {
  writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8')));
}

function defaultOf(setting: Setting): string {
  switch (setting.presence) {
    case 'required':
      return 'required';
    case 'optional':
      return 'unset';
    case 'defaulted':
      return `\`${setting.default}\``;
    case 'computed':
      return setting.default ?? '';
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}
