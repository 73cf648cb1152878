/**
 * Warns that no task, block, record or registration has a name. Without the warning a typing mistake would look like a person
 * without tasks.
 */

import type { Named } from '../../../../application/admin/nearest-names.ts';
import type { SponsorKey } from '../../../../domain/identifiers.ts';
import { type Html, html } from '../../browser/html.ts';
import { agentPath, personPath, taskPath } from '../addresses.ts';
import type { ScreenContext } from '../context.ts';
import { code } from './words.ts';

/**
 * The warning about a person who has no block and no live task.
 *
 * @returns `undefined` if an ended task, or for an auditor a record, names the person. Records of tasks name a person by
 * `sub`, records of blocks by the sponsor key
 */
export async function unknownPerson(
  context: ScreenContext,
  sponsorKey: SponsorKey,
  pathOf: (sponsorKey: string) => string = personPath,
): Promise<Html | undefined> {
  const { admin, audit } = context;
  const ended = await Promise.all(
    (['revoked', 'expired'] as const).map((state) =>
      admin.listTasks({ filters: { sponsorKey, state }, limit: 1, cursor: undefined }),
    ),
  );
  if (ended.some((page) => page.kind === 'page' && page.items.length > 0)) return undefined;
  const isAuditor = context.may('auditor');
  if (isAuditor) {
    const filters = { sponsor: sponsorKey, newestFirst: true };
    const page = await audit.query({ filters, limit: 1, cursor: undefined });
    if (page.kind === 'page' && page.records.length > 0) return undefined;
  }
  const sentence = `No task${isAuditor ? ', block or record' : ' or block'} names this person: check the spelling.`;
  return unknownName(context, { what: 'person', typed: sponsorKey, sentence, pathOf });
}

export const unknownAgent = (context: ScreenContext, typed: string, pathOf: (agentId: string) => string = agentPath) =>
  unknownName(context, {
    what: 'agent',
    typed,
    sentence: 'No registration names this agent: check the spelling.',
    pathOf,
  });

export function unknownTask(
  context: ScreenContext,
  typed: string,
  pathOf: (taskId: string) => string = taskPath,
): Promise<Html> {
  const sentence =
    'No stored task has this id: check the spelling. A task that ended long ago has been deleted, its records stay in the ledger.';
  return unknownName(context, { what: 'task', typed, sentence, pathOf });
}

interface Unknown {
  readonly what: Named;
  readonly typed: string;
  readonly sentence: string;
  /** The address to which an offered name links. */
  pathOf(name: string): string;
}

async function unknownName({ views }: ScreenContext, { what, typed, sentence, pathOf }: Unknown): Promise<Html> {
  const names = await views.nearest(what, typed);
  return html`<div class="banner warn" role="alert"><p><strong>${sentence}</strong></p>
${names.length > 0 && html`<p>Did you mean ${names.length === 1 ? 'this one' : 'one of these'}?</p><ul class="points">${names.map((name) => html`<li><a href="${pathOf(name)}">${code(name)}</a></li>`)}</ul>`}</div>`;
}
