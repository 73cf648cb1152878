/** *Checkpoints*: which records each one seals, and the verification of the whole chain in the browser. Its parameters are those of `GET /audit/checkpoints`. */

import type { Request } from 'express';
import type { FieldError } from '../../../../domain/field-error.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Checkpoint, presentCheckpoint } from '../../../../domain/ledger/checkpoint.ts';
import { type Html, html } from '../../browser/html.ts';
import { DEFAULT_PAGE, PAGE_SIZE_SENTENCE, parseOrdinal, parsePageSize, readQuery } from '../../message/query.ts';
import { assets } from '../assets.ts';
import type { Page, Screen, ScreenContext } from '../context.ts';
import { moment } from '../parts/times.ts';
import { chain, renderVerification } from '../parts/verification.ts';
import { visibleJson } from '../parts/visible-json.ts';

interface CheckpointsView {
  readonly now: Instant;
  readonly outcome:
    | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] }
    | {
        readonly kind: 'page';
        readonly checkpoints: readonly Checkpoint[];
        /** The id after which this page begins. */
        readonly after: number;
        /** `undefined` on the last page. */
        readonly nextAfter: number | undefined;
      };
}

export function renderCheckpoints({ now, outcome }: CheckpointsView): Html {
  if (outcome.kind === 'invalid') {
    return html`<div class="banner warn" role="alert"><h2>This page cannot be shown</h2>
<ul class="points">${outcome.errors.map(({ field, sentence }) => html`<li><code>${field}</code>: ${sentence}</li>`)}</ul></div>`;
  }
  const { checkpoints, after, nextAfter } = outcome;
  return html`<p class="lead">A checkpoint signs the root of its records, and links to the checkpoint before it. <a href="/ledger">Ledger</a></p>
${
  checkpoints.length === 0
    ? html`<p class="card">${after === 0 ? 'There is no checkpoint yet.' : 'There is no later checkpoint.'}</p>`
    : html`<div class="scroll" role="region" aria-label="Checkpoints" tabindex="0"><table>
<thead><tr><th scope="col">Checkpoint</th><th scope="col">Closed</th><th scope="col">Numbers</th><th scope="col">Records</th><th scope="col">Root and key</th></tr></thead>
<tbody>${checkpoints.map((each) => row(each, now))}</tbody></table></div>`
}
${
  (after > 0 || nextAfter !== undefined) &&
  html`<nav class="pages" aria-label="Pages">
${after > 0 && html`<a class="button" href="/ledger/checkpoints">First page</a>`}
${nextAfter !== undefined && html`<a class="button" rel="next" href="/ledger/checkpoints?after=${nextAfter}">Next page</a>`}
</nav>`
}
${renderVerification({ hasRecords: false })}`;
}

function row(checkpoint: Checkpoint, now: Instant): Html {
  const { checkpointId, firstSeq, lastSeq, treeSize, rootHash, closedAt, kid } = checkpoint;
  return html`<tr id="checkpoint-${checkpointId}"><th scope="row">${checkpointId}</th>
<td>${moment(closedAt, now)}</td><td>${firstSeq} to ${lastSeq}</td><td>${treeSize}</td>
<td><details><summary><code>${rootHash.slice(0, 16)}…</code> <span class="quiet">by ${kid.slice(0, 12)}</span></summary>
<pre tabindex="0" aria-label="Checkpoint ${checkpointId} as JSON">${visibleJson(presentCheckpoint(checkpoint))}</pre></details></td></tr>`;
}

async function showCheckpoints({ audit, now }: ScreenContext, { originalUrl }: Request): Promise<Page> {
  const query = readQuery(originalUrl, ['after', 'limit']);
  const after = query.read('after', parseOrdinal, 'Must be a checkpoint_id.') ?? 0;
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  if (query.errors.length > 0) {
    const body = renderCheckpoints({ now, outcome: { kind: 'invalid', errors: query.errors } });
    return { status: 400, reason: 'invalid_fields', body };
  }
  const page = await audit.checkpoints({ after, limit });
  return { body: renderCheckpoints({ now, outcome: { kind: 'page', after, ...page } }), scripts: [assets.verify] };
}

export const checkpointsScreen = {
  path: '/ledger/checkpoints',
  title: 'Checkpoints',
  route: 'GET /audit/checkpoints',
  work: 'other',
  inNavigation: false,
  show: showCheckpoints,
  feeds: { chain },
} as const satisfies Screen;
