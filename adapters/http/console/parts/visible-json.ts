/** JSON as an auditor sees what is verified: invisible characters, and those that change the direction of writing, are escaped. */

import { visibleJson as escaped } from '../../../../domain/visible.ts';

export function visibleJson(value: unknown): string {
  return escaped(JSON.stringify(value, null, 2));
}
