/** One record, then the whole ledger, verified by somebody who trusts nobody; and what becomes of a copy that was changed. */

import { createAuditor } from 'mandate/audit';
import { publishedKeys, tamperWithCopy, untilSealed, verifyLedger } from '../auditor.ts';
import { GRANTED } from '../authority.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** What somebody would have liked the agent to have had. */
const WIDENED = [...GRANTED, 'jira:admin'].join(' ');

export async function anAuditorTrustsNobody(stage: Stage, terminal: Terminal, taskId: string): Promise<void> {
  terminal.chapter('An auditor trusts nobody');
  terminal.say(
    'Every second what is new in the ledger is sealed: a Merkle tree, its root signed and linked to the last. With',
    'mandate/audit a script of the auditor verifies one record and its proof, with nothing but the published keys:',
  );
  const records = await untilSealed(stage.operator);
  const record = records.find(({ event, task_id }) => event === 'token.issued' && task_id === taskId);
  const proof = await stage.operator.readProof(record?.seq);
  const auditor = createAuditor({ keys: await publishedKeys(stage.issuer) });
  terminal.command('createAuditor({ keys }).verifyRecord(record, proof)');
  const verdict = auditor.verifyRecord(record, proof);
  must(verdict.verified, 'The record should be verified by its proof.');
  terminal.confirm(`Record ${record?.seq} is what checkpoint ${verdict.checkpointId} sealed.`);
  const forged = auditor.verifyRecord({ ...record, scope: WIDENED }, proof);
  must(!forged.verified, 'A record that was changed should not be verified.');
  terminal.refused(`The same with jira:admin added to its scope: "${forged.message}"`);

  terminal.say('mandate audit-verify does the same with the whole of it:');
  const whole = await verifyLedger(stage, stage.databaseFile);
  const [said = '', mark = ''] = whole.lines;
  must(whole.exitCode === 0, `The seal should be intact, not: ${whole.lines.join(' ')}`);
  terminal.confirm(`"${said}"`);
  terminal.say('Its last line is a mark to keep elsewhere. It shows should the end of the ledger ever be cut off:');
  terminal.command(mark);
  terminal.say('Now somebody who owns the database writes jira:admin into a copy of it:');
  tamperWithCopy(stage.databaseFile, stage.tamperedFile, WIDENED);
  const tampered = await verifyLedger(stage, stage.tamperedFile);
  must(tampered.exitCode === 3, `Tampering should end with 3, not ${tampered.exitCode}.`);
  terminal.refused(`"${tampered.lines[0]}"`);
}
