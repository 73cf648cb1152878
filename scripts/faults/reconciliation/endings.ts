/**
 * Whatever was answered as ended stays ended: no renewal and no "active" that was asked for afterwards, and exactly one
 * record of the end, which somebody asked for. Every task is over by now, by somebody's wish or at the end of the run;
 * and nothing is called inactive before.
 */

import { type Act, ENDINGS, isDone, type Kept } from '../load/kept.ts';
import { type Evidence, grouped, type Losses } from './evidence.ts';

/** Also of what is ended at the end of the run. */
const KILLED = 'operator_kill_switch';

/** What the record of an end says of who asked for it. */
const REASONS: ReadonlyMap<Act, string> = new Map<Act, string>([
  ['revoke a grant', 'client_revoked'],
  ['kill a task', KILLED],
  ['block', 'sponsor_blocked'],
  ['deactivate', 'scim_deactivated'],
  ['log out', 'sponsor_logged_out'],
  ['disable by event', 'ssf_account_disabled'],
]);

export function endings({ kept, lines }: Evidence): Losses {
  const losses: string[] = [];
  const begunOf = grouped(
    kept.filter(({ act }) => ENDINGS.has(act)),
    ({ task }) => task,
  );
  const terminalsOf = grouped(
    lines.filter(({ event }) => event === 'task.revoked' || event === 'task.expired'),
    ({ task_id }) => task_id,
  );
  for (const { task_id: task } of lines.filter(({ event }) => event === 'token.issued')) {
    const ends = terminalsOf(task ?? undefined).length;
    if (ends !== 1) losses.push(`the task ${task} has ${ends} records of its end`);
    const asked = [KILLED, ...begunOf(task ?? undefined).map(({ act }) => REASONS.get(act))];
    for (const { event, reason } of terminalsOf(task ?? undefined)) {
      if (event !== 'task.revoked' || !asked.includes(reason ?? undefined)) {
        losses.push(`the end of the task ${task} is recorded as ${event} ${reason}, which nobody asked for`);
      }
    }
  }

  const endsOf = grouped(
    kept.filter((one) => ENDINGS.has(one.act) && isDone(one)),
    ({ task }) => task,
  );
  const revocationsOf = grouped(
    kept.filter((one) => one.act === 'revoke a token' && isDone(one)),
    ({ jti }) => jti,
  );
  const revokingOf = grouped(
    kept.filter(({ act }) => act === 'revoke a token'),
    ({ jti }) => jti,
  );
  const isAfter = (later: Kept, ends: readonly Kept[]) => ends.some(({ ended }) => ended < later.began);
  for (const one of kept) {
    if (one.act === 'refresh' && one.status === 200 && isAfter(one, endsOf(one.task))) {
      losses.push(`the task ${one.task} was renewed after its end had been answered`);
    }
    const ends = [...endsOf(one.task), ...revocationsOf(one.jti)];
    if (one.act === 'introspect' && one.active === true && isAfter(one, ends)) {
      losses.push(`the token ${one.jti} was called active after its end had been answered`);
    }
    const causes = [...begunOf(one.task), ...revokingOf(one.jti)];
    if (one.act === 'introspect' && one.active === false && !causes.some(({ began }) => began < one.ended)) {
      losses.push(`the token ${one.jti} was called inactive, and nobody had asked for its end`);
    }
  }

  // Of a token whose task is over there is nothing left to revoke.
  const revokedTokens = grouped(
    lines.filter(({ event }) => event === 'token.revoked'),
    ({ jti }) => jti,
  );
  for (const one of kept.filter(({ act }) => act === 'revoke a token')) {
    const records = revokedTokens(one.jti).length;
    if (records > 1) losses.push(`the revocation of the token ${one.jti} is recorded ${records} times`);
    if (isDone(one) && records === 0 && !begunOf(one.task).some(({ began }) => began < one.ended)) {
      losses.push(`the revocation of the token ${one.jti} was answered and has no record`);
    }
  }
  const asked = new Set(kept.filter(({ act }) => act === 'revoke a token').map(({ jti }) => jti));
  for (const { jti, event } of lines) {
    if (event === 'token.revoked' && !asked.has(jti ?? undefined)) {
      losses.push(`the token ${jti} is recorded as revoked, and nobody asked for that`);
    }
  }
  return losses;
}
