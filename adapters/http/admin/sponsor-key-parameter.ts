/** The sponsor key of a path: percent-encoded, and anything a person may be called by (specification "Admin API"). */

import type { Response } from 'express';
import { fieldErrors } from '../../../domain/field-error.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { parseSponsorKey } from '../../../domain/sponsors/sponsor-key.ts';
import { answerInvalid } from '../message/problem-details.ts';

const SENTENCE = 'Must be 1 to 256 characters, none of them white space or a control character.';

/** `undefined` once the request has been answered. */
export function readSponsorKey(text: string, response: Response): SponsorKey | undefined {
  const sponsorKey = parseSponsorKey(text);
  if (sponsorKey === undefined) answerInvalid(response, fieldErrors('sponsor_key', SENTENCE));
  return sponsorKey;
}
