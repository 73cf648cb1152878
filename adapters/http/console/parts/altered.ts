/** The mark that replaces a stored text which differs from its record in the ledger. */

import type { ShownTask } from '../../../../application/ports/tasks.ts';
import { type Difference, describeDifference } from '../../../../domain/ledger/compared.ts';
import { html, type Insert } from '../../browser/html.ts';

export function altered({ differences }: Pick<ShownTask, 'differences'>, what: Difference['what']): Insert {
  const difference = differences.find((each) => each.what === what);
  return difference && html`<span class="warned">Not shown.</span> ${describeDifference(difference)}`;
}
