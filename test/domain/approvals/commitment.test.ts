import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import { commitmentText } from '../../../domain/approvals/commitment.ts';
import { parseTaskId, type TaskId } from '../../../domain/identifiers.ts';

/** Computed with Python's json and hashlib, from the words and the form that docs/auditing.md describes. */
const COMMITMENT = 'db74e3c2a6c6af88a57df365246214a067fbea3c55e0a23020fb9a2834bc60f2';

const WORDS = {
  salt: 'c2FsdA',
  taskId: parseTaskId('task_01M31S7W68TMK7WDX8YKPSYTES') as TaskId,
  digest: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC0Is0V1sFbDwCgg',
  title: "Pay 'Grace' & co",
  lines: [
    { label: 'To', value: '<b>“é 😀”</b>' },
    { label: 'Sum', value: '12 €' },
  ],
};

describe('The commitment to the words of an approval', () => {
  it('is the same in another language', () => {
    expect(sha256(commitmentText(WORDS))).to.equal(COMMITMENT);
  });

  it('differs if any word, the order of lines, the task, the digest or the salt differs', () => {
    const [to, sum] = WORDS.lines as [(typeof WORDS.lines)[number], (typeof WORDS.lines)[number]];
    const others = [
      { title: 'Pay' },
      { salt: 'c2FsdB' },
      { digest: 'x' },
      { taskId: 'task_x' as TaskId },
      { lines: [sum, to] },
      { lines: [to] },
      { lines: [] },
      // A value that looks like the end of a line and another label.
      { lines: [{ label: 'To', value: `${to.value}"},{"label":"Sum","value":"12 €` }] },
      { lines: [{ label: to.value, value: to.label }, sum] },
    ].map((changes) => commitmentText({ ...WORDS, ...changes }));
    expect(new Set([commitmentText(WORDS), ...others]).size).to.equal(others.length + 1);
  });
});
