/** An auditor's own script: it verifies the chain of checkpoints, the kept marks, and one record. */

import { readFile } from 'node:fs/promises';
import { createAuditor, type JwkSet, type PublishedCheckpoint } from '@mandate/audit';

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

function insist(verdict: { readonly verified: boolean; readonly message?: string }): void {
  if (verdict.verified) return;
  console.log(`NOT VERIFIED: ${verdict.message}`);
  process.exit(3);
}

// 1. Every checkpoint is signed and links to the previous one, and every kept mark matches its checkpoint.
let after: PublishedCheckpoint | undefined;
for (let next: number | null = 0; next !== null; ) {
  type Page = { readonly checkpoints: readonly PublishedCheckpoint[]; readonly next_after: number | null };
  const page: Page = await get<Page>(`/audit/checkpoints?limit=1000${next === 0 ? '' : `&after=${next}`}`);
  const marks = MARKS.split(',').filter((mark) => mark !== '');
  const more = page.next_after !== null;
  insist(auditor.verifyCheckpoints(page.checkpoints, { ...(after === undefined ? {} : { after }), marks, more }));
  after = page.checkpoints.at(-1) ?? after;
  next = page.next_after;
}

// 2. One record matches its checkpoint.
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
insist(auditor.verifyRecord(record, await get(`/audit/records/${RECORD}/proof`)));

console.log(`Record ${RECORD} is what was sealed. Keep this mark: ${after?.checkpoint_id}:${after?.root_hash}`);
