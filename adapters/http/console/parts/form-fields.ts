/** The parts of forms that change something, and how their fields are read. */

import { fieldErrors } from '../../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../../domain/identifiers.ts';
import { MAX_REASON, MIN_REASON } from '../../../../domain/operators/reason.ts';
import { visibleWords } from '../../../../domain/visible.ts';
import { SPONSOR_KEY_SENTENCE } from '../../admin/operator-router.ts';
import { type Html, html } from '../../browser/html.ts';
import type { FormField } from '../../browser/pages.ts';
import type { ChangeResult, ScreenContext } from '../context.ts';
import { code } from './words.ts';

/** The texts of a refused form, which its fields show again. */
export function typedInto({ refused }: ScreenContext, { path }: { readonly path: string }): FormField {
  return (name) => (refused?.path === path ? refused.field(name) : undefined);
}

/** The field that every form of a change has. @param id unique in the page */
export function reasonField(id: string, typed: FormField): Html {
  return html`<p class="field"><label for="${id}">Reason</label>
<input id="${id}" name="reason" value="${typed('reason') ?? ''}" required minlength="${MIN_REASON}" maxlength="${MAX_REASON}" autocomplete="off" aria-describedby="${id}-help">
<span class="quiet" id="${id}-help">${MIN_REASON} to ${MAX_REASON} characters. The ledger keeps its hash, and auditors read it.</span></p>`;
}

/**
 * For acts that end tasks or block a person: the operator types `expected`, and the service compares it. A browser that
 * translates the page must not translate it.
 */
export function typedNameField(id: string, expected: string, typed: FormField): Html {
  return html`<p class="field"><label for="${id}">Type ${code(expected)} to confirm</label>
<input id="${id}" name="typed" value="${typed('typed') ?? ''}" required autocomplete="off" autocapitalize="off" spellcheck="false"></p>`;
}

/** The person whom a form is about, or the refusal. */
export function sponsorIn(field: FormField): SponsorKey | ChangeResult {
  return (
    parseSponsorKey(field('sponsor_key') ?? '') ?? {
      kind: 'refused',
      status: 400,
      reason: 'invalid_fields',
      title: 'This form cannot be read',
      text: 'Nothing was changed.',
      errors: fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE),
    }
  );
}

/** The refusal of a form whose typed name is another one than the act is about. */
export function typedWrong(field: FormField, expected: string, back: string): ChangeResult | undefined {
  const typed = field('typed')?.trim();
  // An operator types what is shown: of a person's key with hidden characters, their numbers.
  if (typed === expected || typed === visibleWords(expected)) return undefined;
  return {
    kind: 'refused',
    status: 400,
    reason: 'typed_name_differs',
    back,
    title: 'What you typed is not what the form asks for',
    text: 'Nothing was changed.',
    errors: fieldErrors('typed', 'Must be exactly what the form shows.'),
  };
}
