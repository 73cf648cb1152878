/** What the operator has just done, as the page says it that the browser opens next. */

import { ATTRIBUTES, onlyCookie } from '../browser/cookies.ts';

const count = (amount: number, one: string, many: string) => `${amount} ${amount === 1 ? one : many}`;
const tasks = (amount: number) => count(amount, 'task', 'tasks');

export const notices = {
  stopped: (amount: number) => (amount === 0 ? 'No task was live: none was ended.' : `Ended ${tasks(amount)}.`),
  agent_disabled: () => 'Disabled. The agent is refused from its next request on.',
  agent_enabled: () => 'Enabled. The agent may start tasks again.',
  blocked: (amount: number) => `Blocked. Ended ${tasks(amount)}.`,
  unblocked: () => "Lifted the operators' block.",
  unblock_pending: () => 'Asked. The block is lifted once another operator asks for it within an hour.',
} as const satisfies Readonly<Record<string, (amount: number) => string>>;

export interface Notice {
  readonly kind: keyof typeof notices;
  readonly amount: number;
}

export function noticeText({ kind, amount }: Notice): string {
  return notices[kind](amount);
}

const NAME = '__Host-mandate-console-notice';
/** Seconds: the browser opens the page at once. */
const LASTS = 60;

/** A cookie, so that no address says it. A forged one could only show these words. */
export function noticeCookie({ kind, amount }: Notice): string {
  return `${NAME}=${kind}.${amount}; Max-Age=${LASTS}; ${ATTRIBUTES}`;
}

export const noNoticeCookie = `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;

export function noticeIn(cookies: string | undefined): Notice | undefined {
  const [, kind = '', amount] = /^([a-z_]+)\.(\d{1,9})$/.exec(onlyCookie(cookies, NAME) ?? '') ?? [];
  return isKind(kind) ? { kind, amount: Number(amount) } : undefined;
}

function isKind(text: string): text is Notice['kind'] {
  return Object.hasOwn(notices, text);
}
