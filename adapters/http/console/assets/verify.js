// Verifies records and checkpoints in the browser, with keys that the auditor pastes (docs/console.md). The service
// sends records, proofs and checkpoints, and decides nothing here.

// The seal: these lines are also in the other page that verifies, and a test compares the two.
class Refused extends Error {
  constructor(fault, message) {
    super(message);
    this.fault = fault;
  }
}
const insist = (holds, fault, message) => {
  if (!holds) throw new Refused(fault, message);
};

// Bytes and hashes.
const utf8 = (text) => new TextEncoder().encode(text);
const concat = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest('SHA-256', concat(...parts)));
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

// Shapes: the members of an object in their order, each with a check. A name with ? may be absent.
const text = (value) => typeof value === 'string';
const whole = (value) => Number.isSafeInteger(value) && value >= 0;
const hash = (value) => text(value) && /^[0-9a-f]{64}$/.test(value);
const isSignature = (value) => text(value) && /^[0-9a-f]{128}$/.test(value);
/** With a year of four digits, so that texts compare as times do. */
const instant = (value) =>
  text(value) && /^\d{4}-/.test(value) && !Number.isNaN(Date.parse(value)) && new Date(value).toISOString() === value;
const list = (check) => (value) => Array.isArray(value) && value.every(check);
const nullable = (check) => (value) => value === null || check(value);
const shaped = (shape) => (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const names = Object.keys(shape).map((name) => [name.replace('?', ''), name]);
  const present = names.filter(([name, key]) => name === key || Object.hasOwn(value, name));
  const isInOrder = Object.keys(value).join() === present.map(([name]) => name).join();
  return isInOrder && present.every(([name, key]) => shape[key](value[name]));
};
const nullableText = nullable(text);
const RECORD = {
  seq: whole,
  checkpoint: nullable(whole),
  ts: instant,
  event: text,
  task_id: nullableText,
  agent_id: nullableText,
  sponsor: nullableText,
  audience: nullableText,
  scope: nullableText,
  jti: nullableText,
  delegation_depth: nullable(whole),
  decision: nullable((value) => ['allow', 'deny'].includes(value)),
  reason: nullableText,
  'count?': whole,
  'detail?': text,
};
const CHECKPOINT = {
  checkpoint_id: whole,
  first_seq: whole,
  last_seq: whole,
  tree_size: whole,
  root_hash: hash,
  prev_checkpoint_hash: nullable(hash),
  closed_at: instant,
  kid: text,
  signature: text,
};

/** JSON that all readers read alike: no member is named twice in its object, no text is ill-formed, and none is deep. */
function parseStrict(json) {
  const value = JSON.parse(json);
  const open = [];
  for (const [token, string, colon] of json.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[[\]{}]/g)) {
    if (string !== undefined) {
      const read = JSON.parse(string);
      if (!read.isWellFormed() || (colon && open.at(-1).has(read))) throw new SyntaxError('ambiguous');
      if (colon) open.at(-1).add(read);
    } else if (token === ']' || token === '}') open.pop();
    else if (open.push(new Set()) > 32) throw new SyntaxError('too deep');
  }
  return value;
}

// Canonical JSON: names in order, no white space, and all but the plainest ASCII escaped.
const short = { '\\': '\\\\', '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };
const escaped = (c) => short[c] ?? `\\u${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
const quoted = (s) => `"${s.replace(/[^ !#-%(-*,-;=?-[\]^_a-~]/g, escaped)}"`;
const jsonOf = (value) => (text(value) ? quoted(value) : value);
const canonical = (object) => {
  const names = Object.keys(object).sort();
  return `{${names.map((name) => `${quoted(name)}:${jsonOf(object[name])}`).join()}}`;
};

// Merkle trees (RFC 9162 section 2.1.3.2).
async function rootOf(leaf, index, size, path) {
  if (index >= size) return undefined;
  let [node, at, last] = [leaf, index, size - 1];
  const up = () => {
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  };
  for (const sibling of path.map(fromHex)) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      node = await sha256(Uint8Array.of(1), sibling, node);
      while (at % 2 === 0 && at > 0) up();
    } else node = await sha256(Uint8Array.of(1), node, sibling);
    up();
  }
  return last === 0 ? toHex(node) : undefined;
}
const leafOf = (bytes) => sha256(Uint8Array.of(0), bytes);

/** The root to which the record at this index leads. Its number and its checkpoint are not sealed. */
const recordRoot = async ({ seq, checkpoint, ...sealed }, index, size, path) =>
  rootOf(await leafOf(utf8(canonical(sealed))), index, size, path);
const isInRange = ({ first_seq, last_seq }, seq) => seq >= first_seq && seq <= last_seq;
/** The index is sealed, not the number: there must be room for the leaves before it and after it. */
const hasRoom = ({ first_seq, last_seq, tree_size }, seq, index) =>
  seq - first_seq >= index && last_seq - seq >= tree_size - 1 - index;

// Signatures: ES256, over the canonical JSON of the checkpoint without its signature.
async function es256Verifier(jwk) {
  try {
    const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
    return (signature, bytes) => crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, signature, bytes);
  } catch {
    return undefined;
  }
}
const isSignedBy = async (verify, { signature, ...signed }) =>
  isSignature(signature) && (await verify(fromHex(signature), utf8(canonical(signed))));
// The end of the seal.

// Verdicts have the faults and the sentences of `@mandate/audit`.
const isRecord = shaped(RECORD);
const isCheckpoint = shaped(CHECKPOINT);
const isProof = shaped({ seq: whole, checkpoint: isCheckpoint, leaf_index: whole, audit_path: list(hash) });
const MARK = /^([1-9]\d{0,15}):([0-9a-f]{64})$/;

const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth'];
/** Whether the key may verify checkpoints. The others of a key set are ignored, as `audit-verify` does. */
function isForCheckpoints(jwk) {
  const { kty, crv, kid, use = 'sig', alg = 'ES256', key_ops: operations = ['verify'] } = jwk;
  const isNamed = text(kid) && kid.length >= 1 && kid.length <= 256;
  const verifies =
    list(text)(operations) && operations.includes('verify') && new Set(operations).size === operations.length;
  const isSigning = kty === 'EC' && crv === 'P-256' && use === 'sig' && alg === 'ES256' && verifies;
  return isNamed && isSigning && !PRIVATE.some((name) => Object.hasOwn(jwk, name));
}
const coordinate = (value) => text(value) && /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(value);

/** @returns the keys of a key set, or of a single key, by their `kid`. One `kid` may have several */
export async function readKeys(pasted) {
  let set;
  try {
    set = parseStrict(pasted);
  } catch {
    throw new Refused('keys', 'The keys are not JSON, or name a member twice. Paste a key set: {"keys": [ … ]}.');
  }
  const keys = new Map();
  for (const jwk of Array.isArray(set?.keys) ? set.keys : [set]) {
    const { kty, crv, x, y, kid } = jwk ?? {};
    const isKey = isForCheckpoints(jwk ?? {}) && coordinate(x) && coordinate(y);
    const verify = isKey && (await es256Verifier({ kty, crv, x, y }));
    if (!verify) continue;
    keys.set(kid, [...(keys.get(kid) ?? []), verify]);
  }
  insist(keys.size > 0, 'keys', 'The key set holds no EC key on P-256 with a kid.');
  return keys;
}

/** @param pasted marks that the auditor kept, separated by white space or commas */
export function readMarks(pasted) {
  return pasted
    .split(/[\s,]+/)
    .filter((each) => each !== '')
    .map((each) => {
      const [, id, root] = MARK.exec(each) ?? [];
      insist(
        Number.isSafeInteger(Number(id)),
        'marks',
        'A mark is written checkpoint_id:root, the root in lowercase hex.',
      );
      return { id: Number(id), root };
    });
}

async function verdictOf(verification) {
  try {
    return { verified: true, ...(await verification()) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { verified: false, fault: error.fault, message: error.message };
  }
}

const markOf = ({ checkpoint_id, root_hash }) => `${checkpoint_id}:${root_hash}`;
const hashOf = async ({ signature, ...signed }) => toHex(await sha256(utf8(canonical(signed))));

async function insistSigned(checkpoint, keys) {
  const { checkpoint_id: id, kid } = checkpoint;
  const named = keys.get(kid) ?? [];
  insist(named.length > 0, 'unknown_key', `Checkpoint ${id} was signed with a key that is not published.`);
  let isSigned = false;
  for (const verify of named) isSigned ||= await isSignedBy(verify, checkpoint);
  const sentence = `Checkpoint ${id} has an invalid signature: it was altered, or signed with another key.`;
  insist(isSigned, 'invalid_signature', sentence);
}

/** @param marks what the auditor kept, and what the proofs of records brought (`from`) */
function insistMarked({ checkpoint_id: id, root_hash }, marks) {
  const other = marks.find((mark) => mark.id === id && mark.root !== root_hash);
  const sentence = `Checkpoint ${id} has another root than the ${other?.from ?? 'mark'} says: the ledger was replaced from there or before.`;
  insist(!other, 'mark_contradicted', sentence);
}

/**
 * Whether the checkpoint of the proof sealed this record at this index, is signed by one of the keys, and contradicts no
 * mark. A former history may have such a checkpoint too: only the chain shows that it belongs to this ledger.
 */
export function verifyRecord(record, proof, keys, marks = []) {
  return verdictOf(async () => {
    insist(isRecord(record), 'unreadable', 'The record does not have the published form.');
    insist(isProof(proof), 'unreadable', 'The proof does not have the published form.');
    const { checkpoint, leaf_index: index, audit_path: path } = proof;
    const { checkpoint_id: id, tree_size, root_hash } = checkpoint;
    const other = (holds, sentence) => insist(holds, 'other_record', sentence);
    other(proof.seq === record.seq, 'The proof is of a record with another number.');
    const isIn = isInRange(checkpoint, record.seq) && (record.checkpoint ?? id) === id;
    other(isIn, 'The record does not lie in the checkpoint of the proof.');
    other(hasRoom(checkpoint, record.seq, index), 'The number of the record is not one that can stand at its place.');
    const root = await recordRoot(record, index, tree_size, path);
    const sentence = `Checkpoint ${id} does not match its records: at least one of them was altered or moved.`;
    insist(root === root_hash, 'root_mismatch', sentence);
    await insistSigned(checkpoint, keys);
    insistMarked(checkpoint, marks);
    return { checkpointId: id, mark: markOf(checkpoint) };
  });
}

/**
 * Whether each checkpoint is signed by one of the keys, and follows the one before it.
 *
 * @param after the last checkpoint of the page before. Without it the first one is checkpoint 1
 * @param more whether another page follows, which may hold the checkpoints of later marks
 */
export function verifyCheckpoints(checkpoints, keys, { after, marks = [], more = false } = {}) {
  return verdictOf(async () => {
    let previous = after;
    for (const next of checkpoints) {
      insist(isCheckpoint(next), 'unreadable', 'The checkpoint does not have the published form.');
      await insistFollows(previous, next);
      await insistSigned(next, keys);
      insistMarked(next, marks);
      previous = next;
    }
    const newest = previous?.checkpoint_id ?? 0;
    const unmatched = more ? undefined : marks.find(({ id }) => id > newest);
    const isThere = newest === 0 ? 'there are no checkpoints at all' : `the newest is ${newest}`;
    const names = `which a ${unmatched?.from ?? 'mark'} names`;
    insist(!unmatched, 'mark_unmatched', `There is no checkpoint ${unmatched?.id}, ${names}: ${isThere}.`);
    return { checkpoints: checkpoints.length, mark: previous && markOf(previous) };
  });
}

async function insistFollows(previous, next) {
  const { checkpoint_id: id, first_seq, last_seq, prev_checkpoint_hash: link } = next;
  const expectedId = (previous?.checkpoint_id ?? 0) + 1;
  const expectedFirst = (previous?.last_seq ?? 0) + 1;
  const renumbered = `Checkpoint ${id} is in the place of checkpoint ${expectedId}: a checkpoint was removed, inserted or renumbered.`;
  insist(id === expectedId, 'id_not_contiguous', renumbered);
  const gap = `Checkpoint ${id} does not begin at sequence number ${expectedFirst}, where the one before it ended.`;
  insist(first_seq === expectedFirst, 'range_not_contiguous', gap);
  insist(last_seq >= first_seq, 'range_inverted', `Checkpoint ${id} ends before it begins.`);
  const broken = `Checkpoint ${id} does not link to the one before it: one of the two was altered or replaced.`;
  insist(link === (previous === undefined ? null : await hashOf(previous)), 'link_broken', broken);
}

// The page.
const MOST_PROOFS = 100;
const MOST_CHECKPOINTS = 1000;
const MOST_NAMED = 100;
const KEPT = 'mandate-console-keys';

const element = (name, ...children) => {
  const made = document.createElement(name);
  made.append(...children);
  return made;
};
const styled = (name, style, ...children) => {
  const made = element(name, ...children);
  made.className = style;
  return made;
};
const number = (count, what) => `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns the body. It waits as long as a busy service asks for */
async function read(address) {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(address, { redirect: 'manual', headers: { accept: 'application/json' } }).catch(
      () => undefined,
    );
    insist(answer, 'unavailable', 'The service does not answer. Nothing more was verified.');
    if (answer.ok) return answer.json();
    const isOver = answer.type === 'opaqueredirect' || answer.status === 401;
    insist(!isOver, 'session_over', 'Your session has ended. Sign in again; nothing more was verified.');
    const isBusy = (answer.status === 429 || answer.status === 503) && attempt < 10;
    insist(isBusy, 'unavailable', `The service answered with status ${answer.status}. Nothing more was verified.`);
    await pause(1000 * Math.min(Number(answer.headers.get('retry-after')) || 1, 30));
  }
}

/** The sentence for a record without a proof. It repeats the service's claim, so a sealed record without a proof is a fault. */
function unproven(record, { reason, checkpoint }) {
  if (reason === 'seal_broken') {
    const { checkpoint_id: id, first_seq, last_seq } = checkpoint;
    return `The records of checkpoint ${id}, numbers ${first_seq} to ${last_seq}, no longer lead to the root that was signed: at least one of them was altered, inserted or removed.`;
  }
  if (reason === 'record_archived') {
    return `The service says that checkpoint ${checkpoint.checkpoint_id} has been archived. Verify its export.`;
  }
  return `The record says that checkpoint ${record.checkpoint} sealed it, and the service has no proof of that.`;
}

/** The checkpoints of the records that were verified last on this page. The chain must have them. */
const proven = new Map();

async function verifyRecords({ keys, marks, say, address }) {
  proven.clear();
  const shown = Array.from(document.querySelectorAll('pre[data-record]'), (source) => {
    try {
      return { seq: source.dataset.record, record: JSON.parse(source.textContent) };
    } catch {
      return { seq: source.dataset.record, record: undefined };
    }
  });
  const [good, open, bad] = [[], [], []];
  for (let at = 0; at < shown.length; at += MOST_PROOFS) {
    const part = shown.slice(at, at + MOST_PROOFS);
    const { proofs } = await read(`${address.proofs}?seqs=${part.map(({ seq }) => seq).join()}`);
    for (const { seq, record } of part) {
      const found = proofs.find((each) => String(each.seq) === seq) ?? {};
      const isShown = String(record?.seq) === seq;
      if (isShown && record.checkpoint === null && found.reason === 'no_sealed_record') {
        open.push(seq);
        mark(seq, 'open', 'not sealed yet');
        continue;
      }
      const verdict = !isShown
        ? { message: 'The record does not have the published form.' }
        : found.proof === undefined
          ? { message: unproven(record, found) }
          : await verifyRecord(record, found.proof, keys, [...marks, ...proven.values()]);
      if (verdict.verified) {
        const { checkpoint_id: id, root_hash: root } = found.proof.checkpoint;
        proven.set(id, { id, root, from: 'proof of a record' });
      }
      (verdict.verified ? good : bad).push({ seq, message: verdict.message });
      mark(seq, verdict.verified ? 'good' : 'fault', verdict.verified ? 'verified' : 'NOT VERIFIED');
    }
    say(`${number(good.length, 'record')} verified …`);
  }
  const rest = open.length > 0 ? [element('p', `${number(open.length, 'record')} not sealed yet: not verified.`)] : [];
  if (bad.length === 0) {
    const title = good.length > 0 ? `${number(good.length, 'record')} verified` : 'Nothing to verify yet';
    const text =
      'Each is the record that its checkpoint sealed, and one of your keys signed the checkpoint. Verify all checkpoints next: that shows that these belong to this ledger. That no record between them is missing, only the whole ledger proves.';
    return outcome(good.length > 0 ? 'good' : 'warn', title, element('p', text), ...rest);
  }
  return outcome(
    'fault',
    `${number(bad.length, 'record')} NOT verified`,
    named(bad),
    element('p', `${number(good.length, 'record')} verified.`),
    ...rest,
  );
}

/** The records that do not verify, by number. Each links to its line. */
function named(bad) {
  const items = bad.slice(0, MOST_NAMED).map(({ seq, message }) => {
    const link = element('a', `Record ${seq}`);
    link.href = `#record-${seq}`;
    link.addEventListener('click', () => document.getElementById(`record-${seq}`)?.setAttribute('open', ''));
    return element('li', link, `: ${message}`);
  });
  const more = bad.length - items.length;
  return styled('ul', 'points', ...items, ...(more > 0 ? [element('li', `and ${more} more`)] : []));
}

function mark(seq, style, words) {
  const place = document.querySelector(`[data-verdict="${seq}"]`);
  place?.replaceChildren(styled('span', `mark ${style}`, words));
}

async function verifyChain({ keys, marks: given, say, address }) {
  const marks = [...given, ...proven.values()];
  let [after, count, next] = [undefined, 0, 0];
  while (next !== null) {
    const page = await read(`${address.chain}?after=${next}&limit=${MOST_CHECKPOINTS}`);
    const verdict = await verifyCheckpoints(page.checkpoints, keys, { after, marks, more: page.next_after !== null });
    if (!verdict.verified)
      return outcome('fault', 'The chain of checkpoints is NOT intact', element('p', verdict.message));
    count += page.checkpoints.length;
    after = page.checkpoints.at(-1) ?? after;
    next = page.next_after;
    say(`${number(count, 'checkpoint')} verified …`);
  }
  if (after === undefined) return outcome('warn', 'There is no checkpoint yet');
  const text = `Numbers 1 to ${after.last_seq} without a gap: each checkpoint links to the one before it, and one of your keys signed it.`;
  const kept = element(
    'p',
    'Keep this mark where the operators of the database cannot change it: ',
    element('code', markOf(after)),
  );
  const confirmed = [
    ...(given.length > 0 ? [`${number(given.length, 'mark')} confirmed.`] : []),
    ...(proven.size > 0 ? ['The checkpoints of the records that you verified on this page are among them.'] : []),
  ].map((sentence) => element('p', sentence));
  return outcome('good', `All ${number(count, 'checkpoint')} verified`, element('p', text), ...confirmed, kept);
}

function outcome(style, title, ...details) {
  return styled('div', `banner ${style}`, element('h3', title), ...details);
}

function start() {
  const panel = document.querySelector('#verification');
  if (panel === null) return;
  const [form, result] = ['form', 'result'].map((name) => document.getElementById(`verification-${name}`));
  const address = { proofs: panel.dataset.proofs, chain: panel.dataset.chain };
  const say = (words) => result.replaceChildren(element('p', words));
  form.hidden = false;
  // Public keys. They are pasted once for all pages, and go with the tab.
  form.keys.value = sessionStorage.getItem(KEPT) ?? '';
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    for (const button of form.querySelectorAll('button')) button.disabled = true;
    try {
      say('Verifying …');
      const [keys, marks] = [await readKeys(form.keys.value), readMarks(form.marks.value)];
      sessionStorage.setItem(KEPT, form.keys.value);
      const verify = event.submitter?.value === 'chain' ? verifyChain : verifyRecords;
      result.replaceChildren(await verify({ keys, marks, say, address }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      result.replaceChildren(outcome('warn', 'Not verified', element('p', error.message)));
    } finally {
      for (const button of form.querySelectorAll('button')) button.disabled = false;
    }
  });
}
if (globalThis.document !== undefined) start();
