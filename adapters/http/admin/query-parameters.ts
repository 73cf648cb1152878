/**
 * Reads a query string strictly: only parameters that are known, each once, well encoded. A filter that is mistyped
 * and passed over, or sent twice and half obeyed, would show an auditor another page than the one asked for.
 */

import type { Response } from 'express';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { parseSponsorKey } from '../../../domain/sponsors/sponsor-key.ts';
import { answerInvalid } from '../message/problem-details.ts';

export interface QueryReader {
  /** The parsed parameter; `undefined` when it was not sent, or can't be parsed and is then among the errors. */
  read<T>(name: string, parse: (text: string) => T | undefined, sentence: string): T | undefined;
  readonly errors: readonly FieldError[];
}

/** @param url of the request, as it came */
export function readQuery(url: string, known: readonly string[]): QueryReader {
  const start = url.indexOf('?');
  const parts = start < 0 ? [] : url.slice(start + 1).split('&');
  const values = new Map<string, string>();
  const errors: FieldError[] = [];
  for (const part of parts.filter((text) => text !== '')) {
    const [rawName = '', ...rest] = part.split('=');
    const name = decode(rawName);
    const value = decode(rest.join('='));
    if (name === undefined || !known.includes(name)) {
      errors.push(...fieldErrors(name ?? rawName, 'Is not a parameter here.'));
    } else if (value === undefined) {
      errors.push(...fieldErrors(name, 'Must be percent-encoded UTF-8.'));
    } else if (values.has(name)) {
      errors.push(...fieldErrors(name, 'Must not be repeated.'));
    }
    if (name !== undefined && value !== undefined) values.set(name, value);
  }
  const read: QueryReader['read'] = (name, parse, sentence) => {
    const text = values.get(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) errors.push(...fieldErrors(name, sentence));
    return value;
  };
  return { read, errors };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** Specification "Other limits": pages. */
const MAX_PAGE = 1000;

export const PAGE_SIZE_SENTENCE = `Must be an integer from 1 to ${MAX_PAGE}.`;

export function parsePageSize(text: string): number | undefined {
  const size = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined;
  return size !== undefined && size <= MAX_PAGE ? size : undefined;
}

/** The length of a page where none is asked for. */
export const DEFAULT_PAGE = 100;

/** A number that counts something stored: plain digits, one spelling for each; `undefined` for anything else. */
export function parseOrdinal(text: string): number | undefined {
  const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
}

const SPONSOR_KEY_SENTENCE = 'Must be 1 to 256 characters, none of them white space or a control character.';

/** The sponsor key in a path (specification "Admin API"). Answers the request and returns `undefined` if it is invalid. */
export function readSponsorKey(text: string, response: Response): SponsorKey | undefined {
  const sponsorKey = parseSponsorKey(text);
  if (sponsorKey === undefined) answerInvalid(response, fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE));
  return sponsorKey;
}
