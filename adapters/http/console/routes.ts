/** Gives each request to the console's own listener its permits and limits, by its row in the table of screens. */

import { rowsOf } from '../browser/pages.ts';
import { matcherOf } from '../browser/paths.ts';
import { OTHER, pathOf, type Route, type Work } from '../routes.ts';
import type { Screen } from './context.ts';
import { screens } from './screens.ts';

const console = (work: Work): Route => ({
  ...OTHER,
  surface: 'console',
  event: 'admin.denied',
  metric: 'console',
  takesForm: work !== 'console_sign_in',
  work,
});

/** Requests of browsers without a session, which wait for the identity provider. */
const SIGN_IN: ReadonlySet<string> = new Set(['/sign-in', '/callback']);
const SIGN_IN_ROUTE = console('console_sign_in');
/** Files, the sign-out and unknown paths. They must not delay requests that stop tasks. */
const OTHER_ROUTE = console('other');

const ROWS = Object.values<Screen>(screens)
  .flatMap(rowsOf)
  .map(({ path, work }) => ({ pattern: matcherOf(path), route: console(work) }));

export function consoleRouteOf(target: string): Route {
  const path = pathOf(target);
  if (SIGN_IN.has(path)) return SIGN_IN_ROUTE;
  return ROWS.find(({ pattern }) => pattern.test(path))?.route ?? OTHER_ROUTE;
}
