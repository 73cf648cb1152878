/** Reads what *People* shows, and blocks and unblocks. */

import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../../domain/identifiers.ts';
import { parseListCursor } from '../../../../domain/list-cursor.ts';
import { blockSources, parseBlockSource } from '../../../../domain/sponsors/block.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/requests.ts';
import { CURSOR, CURSOR_SENTENCE, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import { personPath } from '../addresses.ts';
import type { Act, Asked, Done, Field, Show, Shown } from '../asked.ts';
import { readFilters, refusedFilters } from '../filters.ts';
import { renderPeople, renderPerson } from './people.ts';

const PAGE = 100;
/** The newest live tasks of one person. */
const NEWEST = 50;

export const showPeople: Show = async (asked, request) => {
  const query = readFilters(request, ['sponsor', 'source', CURSOR]);
  const sponsorKey = query.read('sponsor', parseSponsorKey, SPONSOR_KEY_SENTENCE);
  const source = query.read('source', parseBlockSource, `Must be one of ${blockSources.join(', ')}.`);
  const cursor = query.read(CURSOR, parseListCursor, CURSOR_SENTENCE);
  const isAmbiguous = sponsorKey !== undefined && (source !== undefined || cursor !== undefined);
  const errors = [...query.errors, ...(isAmbiguous ? fieldErrors('sponsor', 'Must be the only filter.') : [])];
  if (errors.length > 0) return refusedFilters(errors, '/people');
  if (sponsorKey !== undefined) return showPerson(asked, sponsorKey);
  const page = await asked.admin.listBlocks({ source, limit: PAGE, cursor });
  if (page.kind === 'foreign_cursor') return refusedFilters(fieldErrors(CURSOR, FOREIGN_CURSOR_SENTENCE), '/people');
  const { items: blocks, nextCursor } = page;
  return { body: renderPeople({ now: asked.now, source, blocks, nextCursor }) };
};

async function showPerson(asked: Asked, sponsorKey: SponsorKey): Promise<Shown> {
  const { admin, overview, now, formToken } = asked;
  const [blocks, pendingUntil, live, newest] = await Promise.all([
    admin.findBlocks(sponsorKey),
    overview.twoPersons ? overview.liftPendingUntil(sponsorKey) : undefined,
    overview.countLive({ sponsorKey }),
    admin.listTasks({ filters: { state: 'live', sponsorKey }, limit: NEWEST, cursor: undefined }),
  ]);
  const view = {
    ...{ now, sponsorKey, blocks, live, formToken, mayRespond: asked.may('responder') },
    ...{ twoPersons: overview.twoPersons, pendingUntil, newest: newest.kind === 'page' ? newest.items : [] },
  };
  return { title: 'Person', body: renderPerson(view) };
}

export const block: Act = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const mistyped = typedWrong(field, sponsorKey, personPath(sponsorKey));
  if (mistyped !== undefined) return mistyped;
  const { revokedTasks } = await admin.block(sponsorKey);
  return { kind: 'done', to: personPath(sponsorKey), notice: { kind: 'blocked', amount: revokedTasks } };
};

export const unblock: Act = async ({ admin }, field) => {
  const sponsorKey = sponsorIn(field);
  if (typeof sponsorKey !== 'string') return sponsorKey;
  const to = personPath(sponsorKey);
  const verdict = await admin.unblock(sponsorKey);
  switch (verdict) {
    case 'lifted':
      return { kind: 'done', to, notice: { kind: 'unblocked', amount: 0 } };
    case 'pending':
      return { kind: 'done', to, notice: { kind: 'unblock_pending', amount: 0 } };
    case 'not_blocked':
      return refused(404, 'This person is not blocked', 'There is no block to lift.', verdict, to);
    case 'not_owned': {
      const text = 'No operator has blocked this person, and each source lifts only its own block.';
      return refused(409, 'This block is not the operators’', text, 'sponsor_block_not_owned', to);
    }
    case 'operator_is_sponsor': {
      const text =
        'You are the blocked person, or your ID token does not say who you are to agents: another operator must lift this block.';
      return refused(403, 'You may not lift this block', text, verdict, to);
    }
    case 'sign_in_too_old':
      throw new Error("only a person's own pause needs a recent sign-in");
  }
};

/** The person whom a form is about, or the refusal. */
export function sponsorIn(field: Field): SponsorKey | Done {
  return (
    parseSponsorKey(field('sponsor_key') ?? '') ?? {
      ...{ kind: 'refused', status: 400, reason: 'invalid_fields', title: 'This form cannot be read' },
      ...{ text: 'Nothing was changed.', errors: fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE) },
    }
  );
}

/** The refusal of a form whose typed name is another one than the act is about. */
export function typedWrong(field: Field, expected: string, back: string): Done | undefined {
  if (field('typed')?.trim() === expected) return undefined;
  return {
    ...{ kind: 'refused', status: 400, reason: 'typed_name_differs', back, title: 'The typed name is another one' },
    text: 'Nothing was changed. Type the name exactly as the form shows it.',
    errors: fieldErrors('typed', 'Must be the name that the form shows.'),
  };
}

function refused(status: number, title: string, text: string, reason: string, back: string): Done {
  return { kind: 'refused', status, title, text: `Nothing was changed. ${text}`, reason, back };
}
