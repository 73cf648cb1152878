/** The forms and feeds of all screens of the console, by their names. */

import type { Screen } from '../../../adapters/http/console/context.ts';
import { screens } from '../../../adapters/http/console/screens.ts';

const all = Object.values<Screen>(screens);

function rowsOf<Row>(rows: (screen: Screen) => Readonly<Record<string, Row>> | undefined) {
  return Object.fromEntries(all.flatMap((screen) => Object.entries(rows(screen) ?? {})));
}

export const forms = rowsOf((screen) => screen.forms);
export const fileForms = rowsOf((screen) => screen.fileForms);
export const feeds = rowsOf((screen) => screen.feeds);
