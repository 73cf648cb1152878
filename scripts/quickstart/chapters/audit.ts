/** An auditor verifies one record, then the whole ledger, then a changed copy. */

import { createAuditor } from '@mandate/audit';
import { publishedKeys, tamperWithCopy, untilSealed, verifyLedger } from '../auditor.ts';
import { GRANTED } from '../authority.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** The scope in the changed record. */
const WIDENED = [...GRANTED, 'jira:admin'].join(' ');

export async function anAuditorVerifiesTheLedger(stage: Stage, terminal: Terminal, taskId: string): Promise<void> {
  terminal.chapter('An auditor verifies the ledger');
  terminal.say(
    'Every second the new records are sealed: a Merkle tree with a signed root, linked to the last. With',
    '@mandate/audit the script of an auditor verifies one record and its proof, with only the published keys:',
  );
  const records = await untilSealed(stage.operator);
  const record = records.find(({ event, task_id }) => event === 'token.issued' && task_id === taskId);
  const proof = await stage.operator.readProof(record?.seq);
  const auditor = createAuditor({ keys: await publishedKeys(stage.issuer) });
  terminal.command('createAuditor({ keys }).verifyRecord(record, proof)');
  const verdict = auditor.verifyRecord(record, proof);
  must(verdict.verified, 'The record should be verified by its proof.');
  terminal.confirm(`Record ${record?.seq} matches checkpoint ${verdict.checkpointId}.`);
  const forged = auditor.verifyRecord({ ...record, scope: WIDENED }, proof);
  must(!forged.verified, 'A changed record should not verify.');
  terminal.refused(`The same record with jira:admin added to its scope: "${forged.message}"`);

  terminal.say('mandate audit-verify verifies the whole ledger:');
  const whole = await verifyLedger(stage, stage.databaseFile);
  const [said = '', mark = ''] = whole.lines;
  must(whole.exitCode === 0, `The seal should be intact, not: ${whole.lines.join(' ')}`);
  terminal.confirm(`"${said}"`);
  terminal.say('Its last line is a mark to keep elsewhere. It detects a ledger whose end was removed:');
  terminal.command(mark);
  terminal.say('Now an owner of the database writes jira:admin into a copy of it:');
  tamperWithCopy(stage.databaseFile, stage.tamperedFile, WIDENED);
  const tampered = await verifyLedger(stage, stage.tamperedFile);
  must(tampered.exitCode === 3, `For a changed copy the command should exit with 3, not ${tampered.exitCode}.`);
  terminal.refused(`"${tampered.lines[0]}"`);
}
