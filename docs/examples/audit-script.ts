/** An auditor's own script: it verifies one record, the chain of checkpoints, and the kept marks. */

import { readFile } from 'node:fs/promises';
import { type ChainVerdict, createAuditor, type JwkSet, type PublishedCheckpoint, type Verdict } from '@mandate/audit';

const { MANDATE = '', ADMIN_API_KEY = '', MARKS = '', RECORD = '' } = process.env;
/** A copy of the published keys that the operators of the database could not change. */
const { KEYS_FILE = '' } = process.env;

const keys = JSON.parse(await readFile(KEYS_FILE, 'utf8')) as JwkSet;
const auditor = createAuditor({ keys });

async function get<Body>(path: string): Promise<Body> {
  const answer = await fetch(`${MANDATE}${path}`, { headers: { authorization: `Bearer ${ADMIN_API_KEY}` } });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
  return (await answer.json()) as Body;
}

function insist<Judged extends Verdict | ChainVerdict>(
  verdict: Judged,
): asserts verdict is Judged & { readonly verified: true } {
  if (verdict.verified) return;
  console.log(`NOT VERIFIED: ${verdict.message}`);
  process.exit(3);
}

// 1. One record matches the checkpoint of its proof.
let record: unknown;
for (let cursor: string | null = ''; record === undefined && cursor !== null; ) {
  type Page = { readonly records: readonly { readonly seq: number }[]; readonly next_cursor: string | null };
  const page: Page = await get<Page>(`/audit?limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
  record = page.records.find(({ seq }) => seq === Number(RECORD));
  cursor = page.next_cursor;
}
if (record === undefined) {
  console.log(`There is no record ${RECORD}.`);
  process.exit(1);
}
const proven = auditor.verifyRecord(record, await get(`/audit/records/${RECORD}/proof`));
insist(proven);

// 2. Every checkpoint is signed and links to the previous one, and every kept mark matches its checkpoint. So does the mark
// of the record: the proof could bring a checkpoint that the same key once signed for another history.
const marks = [proven.mark, ...MARKS.split(',').filter((kept) => kept !== '')];
let after: PublishedCheckpoint | undefined;
for (let next: number | null = 0; next !== null; ) {
  type Page = { readonly checkpoints: readonly PublishedCheckpoint[]; readonly next_after: number | null };
  const page: Page = await get<Page>(`/audit/checkpoints?limit=1000${next === 0 ? '' : `&after=${next}`}`);
  const more = page.next_after !== null;
  insist(auditor.verifyCheckpoints(page.checkpoints, { after, marks, more }));
  after = page.checkpoints.at(-1) ?? after;
  next = page.next_after;
}

console.log(`Record ${RECORD} is what was sealed. Keep this mark: ${after?.checkpoint_id}:${after?.root_hash}`);
