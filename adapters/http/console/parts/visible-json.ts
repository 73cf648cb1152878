/** JSON for auditors. It escapes invisible characters and those that change the direction of writing. */

import { visibleJson as escaped } from '../../../../domain/visible.ts';

export function visibleJson(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2));
}
