/** Whether the role that serves can do what its decisions need, and no more (design "Storage", Guards). */

import type { RoleCondition } from '../ports/storage-condition.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';
import { listed } from './listed.ts';

/** What can undo or falsify the record of what was decided. */
const OF_THE_LEDGER = /^(insert|update|delete|truncate|trigger)\b.* on (ledger(_\w+)?|checkpoints)$/;

const OWN_ROLE =
  'Serve as a role of its own: name the one that owns the schema in Service:Database:MigrationConnectionString, another in Service:Database:ConnectionString, and run `mandate migrate`.';

/** @param isDevelopment where one role for everything is a convenience */
export function judgeRole(role: RoleCondition | undefined, isDevelopment: boolean): Finding {
  if (role === undefined)
    return skipped('This database knows no roles: whoever may write its file may change the ledger.');
  const reproach = isDevelopment ? warning : failed;
  if (role.isSuperuser)
    return reproach(`The role that serves, ${role.role}, is a superuser: no guard holds it.`, OWN_ROLE);
  if (role.isOwner) {
    return reproach(`The role that serves, ${role.role}, owns the ledger, and so can lift its guards.`, OWN_ROLE);
  }
  if (role.missing.length > 0) {
    return failed(
      `${role.role} lacks what decisions need: ${listed(role.missing)}.`,
      'Run `mandate migrate`, which grants it.',
    );
  }
  const dangerous = role.surplus.filter((privilege) => OF_THE_LEDGER.test(privilege));
  const remedy =
    'Run `mandate migrate`, which takes it away on our tables; what comes by another role or from the schema, revoke yourself.';
  if (dangerous.length > 0) return failed(`${role.role} may change the ledger: ${listed(dangerous)}.`, remedy);
  if (role.surplus.length > 0)
    return warning(`${role.role} may do more than it needs: ${listed(role.surplus)}.`, remedy);
  return ok(`${role.role} may do what decisions need, and no more: it can only add to the ledger.`);
}
