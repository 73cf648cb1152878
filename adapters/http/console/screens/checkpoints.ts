/** *Checkpoints*: which records each one seals, the newest first, and the verification of the whole chain in the browser. */

import { listNewestCheckpoints } from '../../../../application/ledger/query.ts';
import type { FieldError } from '../../../../domain/field-error.ts';
import type { Instant } from '../../../../domain/instant.ts';
import { type Checkpoint, presentCheckpoint } from '../../../../domain/ledger/checkpoint.ts';
import { type Html, html } from '../../browser/html.ts';
import { DEFAULT_PAGE, PAGE_SIZE_SENTENCE, parseOrdinal, parsePageSize, readQuery } from '../../message/query.ts';
import { screenPaths, withQuery } from '../addresses.ts';
import { assets } from '../assets.ts';
import type { Screen, ShowScreen } from '../context.ts';
import { problemBanner } from '../parts/filters.ts';
import { moment } from '../parts/times.ts';
import { chain, renderVerification } from '../parts/verification.ts';
import { visibleJson } from '../parts/visible-json.ts';
import { pages, wide } from '../parts/words.ts';

interface CheckpointsView {
  readonly now: Instant;
  readonly outcome:
    | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] }
    | {
        readonly kind: 'page';
        readonly checkpoints: readonly Checkpoint[];
        /** The id before which this page begins; `undefined` on the first page. */
        readonly before: number | undefined;
        /** `undefined` on the last page. */
        readonly nextBefore: number | undefined;
      };
}

export function renderCheckpoints({ now, outcome }: CheckpointsView): Html {
  if (outcome.kind === 'invalid') return problemBanner('This page cannot be shown', outcome.errors);
  const { checkpoints, before, nextBefore } = outcome;
  return html`<p class="lead">A checkpoint signs the root of its records, and links to the checkpoint before it. <a href="${screenPaths.ledger}">Ledger</a></p>
${
  checkpoints.length === 0
    ? html`<p class="card">${before === undefined ? 'There is no checkpoint yet.' : 'There is no earlier checkpoint.'}</p>`
    : wide(
        'Checkpoints',
        html`<table>
<thead><tr><th scope="col">Checkpoint</th><th scope="col">Closed</th><th scope="col">Numbers</th><th scope="col">Records</th><th scope="col">Root and key</th></tr></thead>
<tbody>${checkpoints.map((each) => row(each, now))}</tbody></table>`,
      )
}
${pages('Pages of checkpoints', {
  first: before === undefined ? undefined : screenPaths.checkpoints,
  next: nextBefore === undefined ? undefined : withQuery(screenPaths.checkpoints, { before: String(nextBefore) }),
})}
${renderVerification({ hasRecords: false })}`;
}

function row(checkpoint: Checkpoint, now: Instant): Html {
  const { checkpointId, firstSeq, lastSeq, treeSize, rootHash, closedAt, kid } = checkpoint;
  return html`<tr id="checkpoint-${checkpointId}"><th scope="row">${checkpointId}</th>
<td>${moment(closedAt, now)}</td><td>${firstSeq} to ${lastSeq}</td><td>${treeSize}</td>
<td><details><summary><code>${rootHash.slice(0, 16)}…</code> <span class="quiet">by ${kid.slice(0, 12)}</span></summary>
<pre tabindex="0" aria-label="Checkpoint ${checkpointId} as JSON">${visibleJson(presentCheckpoint(checkpoint))}</pre></details></td></tr>`;
}

const showCheckpoints: ShowScreen = async ({ views, now }, { originalUrl }) => {
  const query = readQuery(originalUrl, ['before', 'limit']);
  const before = query.read('before', parseOrdinal, 'Must be a checkpoint_id.');
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  if (query.errors.length > 0) {
    const body = renderCheckpoints({ now, outcome: { kind: 'invalid', errors: query.errors } });
    return { status: 400, reason: 'invalid_fields', body };
  }
  const page = await listNewestCheckpoints(views.ports, { before, limit });
  return { body: renderCheckpoints({ now, outcome: { kind: 'page', before, ...page } }), scripts: [assets.verify] };
};

export const checkpointsScreen = {
  path: screenPaths.checkpoints,
  title: 'Checkpoints',
  route: 'GET /audit/checkpoints',
  work: 'other',
  inNavigation: false,
  show: showCheckpoints,
  feeds: { chain },
} as const satisfies Screen;
