/** The sentence that the next page shows after a form has changed something. */

import { type Flash, flashCookie } from '../browser/flash.ts';

const count = (amount: number, one: string, many: string) =>
  `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`;
const tasks = (amount: number) => count(amount, 'task', 'tasks');

export const notices = {
  stopped: (amount: number) => (amount === 0 ? 'No task was live: none was ended.' : `Ended ${tasks(amount)}.`),
  agent_disabled: () => 'Disabled. The agent is refused from its next request on.',
  agent_enabled: () => 'Enabled. The agent may start tasks again.',
  blocked: (amount: number) => `Blocked. Ended ${tasks(amount)}.`,
  unblocked: () => "Lifted the operators' block.",
  unblock_pending: () => 'Asked. The block is lifted once another operator asks for it within an hour.',
} as const satisfies Readonly<Record<string, (amount: number) => string>>;

const kinds = Object.keys(notices) as (keyof typeof notices)[];
export type Notice = Flash<(typeof kinds)[number]>;

export const noticeCookie = flashCookie('__Host-mandate-console-notice', kinds);

export function noticeText({ kind, amount }: Notice): string {
  return notices[kind](amount);
}
