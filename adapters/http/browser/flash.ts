/**
 * A one-time (flash) message about the form that was just sent, shown on the next page. A cookie carries it, so that no
 * address does. It has no words, but the id of a task or an approval. The page reads the words from the database, and shows them
 * only to the person whose they are. So a forged cookie can only choose the kind of the message.
 */

import type { Request, Response } from 'express';
import { ATTRIBUTES, onlyCookie } from './cookies.ts';

export interface Flash<Kind extends string> {
  readonly kind: Kind;
  /** 0 where the words name no number. */
  readonly amount: number;
  /** The id of the task or approval that the message is about. Absent if it is about none. */
  readonly about?: string;
}

export interface FlashCookie<Kind extends string> {
  give(response: Response, flash: Flash<Kind>): void;
  /** The message of the request, which the answer removes. */
  take(request: Request, response: Response): Flash<Kind> | undefined;
}

/** Seconds: the browser opens the page at once. */
const LASTS = 60;

export function flashCookie<Kind extends string>(name: `__Host-${string}`, kinds: readonly Kind[]): FlashCookie<Kind> {
  return {
    give(response, { kind, amount, about }) {
      const value = about === undefined ? `${kind}.${amount}` : `${kind}.${amount}.${about}`;
      response.append('Set-Cookie', `${name}=${value}; Max-Age=${LASTS}; ${ATTRIBUTES}`);
    },

    take(request, response) {
      const cookie = onlyCookie(request.headers.cookie, name) ?? '';
      const [, word, amount, about] = /^([a-z_]+)\.(\d{1,9})(?:\.([a-z]+_[0-9A-Z]{26}))?$/.exec(cookie) ?? [];
      const kind = kinds.find((each) => each === word);
      if (kind === undefined) return undefined;
      response.append('Set-Cookie', `${name}=; Max-Age=0; ${ATTRIBUTES}`);
      return { kind, amount: Number(amount), ...(about !== undefined && { about }) };
    },
  };
}
