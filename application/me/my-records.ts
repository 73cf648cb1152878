/** A person's own records (by `sub`), with the pages and proofs of `/audit`. */

import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type ProofOutcome, proveRecord } from '../ledger/prove.ts';
import { type LedgerAnswer, type LedgerQuestion, queryLedger } from '../ledger/query.ts';

export type MyRecordsQuestion = Omit<LedgerQuestion, 'filters'>;

export function myRecords(
  service: Parameters<typeof queryLedger>[0],
  { subject }: MePerson,
  question: MyRecordsQuestion,
): Promise<LedgerAnswer> {
  return queryLedger(service, { ...question, filters: { sponsor: subject } });
}

/**
 * `not_found`: no sealed record with this number names the person. An archived record is not found either, because the
 * ledger no longer knows whom it names.
 */
export async function proveMyRecord(
  service: Parameters<typeof proveRecord>[0],
  { subject }: MePerson,
  seq: number,
): Promise<ProofOutcome> {
  const records = await service.checkpoints.records({ firstSeq: seq, lastSeq: seq }, seq - 1, 1);
  const isOwn = records.some(({ sponsor }) => sponsor === subject);
  return isOwn ? proveRecord(service, seq) : { kind: 'not_found' };
}
