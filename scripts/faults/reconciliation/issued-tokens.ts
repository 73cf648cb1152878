/**
 * Every 200 of an exchange has exactly one `token.issued`, of the same token, task, agent and person; and every
 * `token.issued` belongs to a request that was answered with that token, or that was not answered, or with 503: such a
 * request may leave one task behind, whose grant and token nobody has.
 */

import { isUnknown, type Kept } from '../load/kept.ts';
import { type Evidence, grouped, type LedgerLine, type Losses } from './evidence.ts';

export interface Issued {
  readonly losses: Losses;
  /** Records of exchanges whose answers did not arrive. */
  readonly leftBehind: number;
}

export function issuedTokens({ kept, lines }: Evidence): Issued {
  const records = lines.filter(({ event }) => event === 'token.issued');
  const exchanges = kept.filter(({ act }) => act === 'exchange');
  const recordsOf = grouped(records, ({ sponsor }) => sponsor);
  const requestOf = grouped(exchanges, ({ sub }) => sub);
  const losses: string[] = [];

  for (const exchange of exchanges) {
    const found = recordsOf(exchange.sub);
    if (exchange.status === 200 && !(found.length === 1 && found.every((record) => isOf(record, exchange)))) {
      losses.push(`the token ${exchange.jti} was answered and has ${found.length} records of its person, none its own`);
    }
    if (found.length > 1) losses.push(`the person ${exchange.sub} asked once and has ${found.length} records`);
  }
  let leftBehind = 0;
  for (const record of records) {
    const [request] = requestOf(record.sponsor ?? undefined);
    if (request === undefined) losses.push(`the token ${record.jti} is recorded and nobody asked for it`);
    else if (isUnknown(request)) leftBehind += 1;
    else if (request.status !== 200) losses.push(`the token ${record.jti} is recorded and was refused`);
  }
  if (new Set(records.map(({ jti }) => jti)).size < records.length) losses.push('two records name one token');
  return { losses, leftBehind };
}

function isOf(record: LedgerLine, { jti, task, agent, sub }: Kept): boolean {
  return record.jti === jti && record.task_id === task && record.agent_id === agent && record.sponsor === sub;
}
