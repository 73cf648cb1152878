/** Very many live tasks and denials, inserted as rows: requests would take minutes. */

import type { TestDatabase } from '../databases.ts';
import type { Mandate } from '../mandate.ts';

export async function insertLiveTasks(
  mandate: Pick<Mandate, 'clock' | 'sql'>,
  database: TestDatabase,
  tasks: number,
): Promise<void> {
  const now = mandate.clock.seconds();
  const time = timeIn(database);
  const { begin, from } = numbersIn(database, tasks);
  const digits = database.engine === 'sqlite' ? "printf('%026d', n)" : "lpad(n::text, 26, '0')";
  await mandate.sql(`${begin}insert into tasks
    (task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at)
    select 'task_' || ${digits}, 'agent-' || (n % 37), 'person-' || (n % 1500), 'person-' || (n % 1500),
      'https://server-' || (n % 11) || '.example', 'x:read x:write', 1, ${time(now)}, ${time(now + 3600)} from ${from}`);
  await mandate.sql(
    `insert into task_grants (grant_hash, task_id, scope, renewals) select task_id, task_id, scope, 0 from tasks`,
  );
}

/** The denials of the last ten minutes, evenly: the first of each minute is in its first second. */
export async function insertDenials(
  mandate: Pick<Mandate, 'clock' | 'sql'>,
  database: TestDatabase,
  perMinute: number,
): Promise<void> {
  const now = mandate.clock.seconds();
  const first = now - (now % 60) - 9 * 60;
  const { begin, from } = numbersIn(database, 10 * perMinute);
  // Of the current minute, a part is still to come.
  const at = timeIn(database)(
    `(${first} + (n - 1) / ${perMinute} * 60 + ((n - 1) % ${perMinute}) * ${now % 60} / ${perMinute})`,
  );
  await mandate.sql(`${begin}insert into ledger (ts, event, decision, reason, agent_id)
    select ${at}, 'token.denied', 'deny', case when n % 3 = 0 then 'task_revoked' else 'scope_widened' end,
      case when n % 3 = 0 then 'agent-' || n % 500 else 'fleet-117' end from ${from}`);
}

function timeIn({ engine }: TestDatabase): (seconds: number | string) => string {
  return (seconds) => (engine === 'sqlite' ? `${seconds} * 1000000` : `to_timestamp(${seconds})`);
}

/** The numbers from 1 on, as `n` of the table `from`. */
function numbersIn({ engine }: TestDatabase, count: number): { readonly begin: string; readonly from: string } {
  if (engine === 'postgres') return { begin: '', from: `generate_series(1, ${count}) as numbers (n)` };
  const begin = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count}) `;
  return { begin, from: 'numbers' };
}
