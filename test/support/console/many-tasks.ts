/** Very many live tasks, inserted as rows: exchanges would take minutes. */

import type { TestDatabase } from '../databases.ts';
import type { Mandate } from '../mandate.ts';

export async function insertLiveTasks(
  mandate: Pick<Mandate, 'clock' | 'sql'>,
  database: TestDatabase,
  tasks: number,
): Promise<void> {
  const now = mandate.clock.seconds();
  const time = (seconds: number) =>
    database.engine === 'sqlite' ? `${seconds * 1_000_000}` : `to_timestamp(${seconds})`;
  const numbers =
    database.engine === 'sqlite'
      ? `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${tasks}) `
      : '';
  const from = database.engine === 'sqlite' ? 'numbers' : `generate_series(1, ${tasks}) as numbers (n)`;
  const digits = database.engine === 'sqlite' ? "printf('%026d', n)" : "lpad(n::text, 26, '0')";
  await mandate.sql(`${numbers}insert into tasks
    (task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at)
    select 'task_' || ${digits}, 'agent-' || (n % 37), 'person-' || (n % 1500), 'person-' || (n % 1500),
      'https://server-' || (n % 11) || '.example', 'x:read x:write', 1, ${time(now)}, ${time(now + 3600)} from ${from}`);
  await mandate.sql(
    `insert into task_grants (grant_hash, task_id, scope, renewals) select task_id, task_id, scope, 0 from tasks`,
  );
}
