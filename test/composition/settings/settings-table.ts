/** Renders the catalogue as the table of settings in docs. */

import { catalogue } from '../../../composition/settings/catalogue.ts';
import type { Setting } from '../../../composition/settings/setting.ts';

/** A Markdown table with every setting in the catalogue's order, ending in a line break. */
export function settingsTable(): string {
  const rows = Object.entries(catalogue).map(([key, setting]) => [
    `\`${key}\``,
    setting.type.secret ? `secret: ${setting.type.accepts}` : setting.type.accepts,
    defaultOf(setting),
    setting.meaning,
  ]);
  return [['Setting', 'Accepted', 'Default', 'Meaning'], ['---', '---', '---', '---'], ...rows].map(line).join('');
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
