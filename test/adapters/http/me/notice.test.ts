/** What the message after a form names: only what the id in its cookie stands for, as it is stored, of this person. */

import { expect } from 'chai';
import { findNotice, noticeText } from '../../../../adapters/http/me/notice.ts';
import type { MyApprovals } from '../../../../adapters/http/me/surface.ts';
import { de } from '../../../../adapters/http/me/texts/de.ts';
import { en } from '../../../../adapters/http/me/texts/en.ts';
import type { NoticeFlash } from '../../../../adapters/http/me/view.ts';
import type { TaskApproval } from '../../../../application/ports/approvals.ts';
import type { SponsorKey } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import { anApproval, aTask, HOLDS, now } from './fixtures.ts';

const ADA = {
  subject: 'ada',
  sponsorKey: 'ada' as SponsorKey,
  sessionId: undefined,
  authenticatedAt: now,
  by: 'session',
} as const;
const { approvalId: APPROVAL } = anApproval();
const { taskId: TASK } = aTask();

/** What the page says, if this approval is stored. */
async function said(flash: NoticeFlash, stored?: TaskApproval | 'altered', words = en): Promise<string | undefined> {
  const asked: unknown[] = [];
  const approvals = {
    holds: HOLDS,
    async find(person: typeof ADA, id: string) {
      asked.push(person.sponsorKey);
      return id === APPROVAL ? stored : undefined;
    },
  } as unknown as MyApprovals;
  const tasksById = async () => new Map([[TASK, aTask()]]);
  const notice = await findNotice({ approvals, tasksById }, ADA, flash);
  expect(new Set(asked).size).to.be.at.most(1);
  if (notice === undefined) return undefined;
  const text = noticeText({ now, holds: HOLDS }, notice, words, words === en ? 'en' : 'de');
  return String(text).replaceAll(/<[^>]*>/g, '');
}

describe('The message after a form', () => {
  const yes = { kind: 'approved', amount: 0, about: APPROVAL } as const;
  const no = { kind: 'declined', amount: 0, about: APPROVAL } as const;
  const granted = anApproval({ state: 'granted', decidedAt: now, expiresAt: plusSeconds(now, 400) });
  const refused = anApproval({ state: 'refused', decidedAt: now });

  it('names the action and its agent, and says how long the answer holds', async () => {
    expect(await said(yes, granted)).to.equal(
      'You said yes: Delete the issue PAY-7 (Jira triage). The agent may do this once, within 7 minutes.',
    );
    expect(await said(yes, { ...granted, state: 'used', closedAt: now })).to.equal(
      'You said yes: Delete the issue PAY-7 (Jira triage).',
    );
    expect(await said(no, refused)).to.equal(
      'You said no: Delete the issue PAY-7 (Jira triage). The no counts for 1 hour; then the agent may ask again.',
    );
    expect(await said(no, refused, de)).to.equal(
      'Sie haben Nein gesagt: Delete the issue PAY-7 (Jira triage). Das Nein gilt 1 Stunde lang; danach darf der Agent wieder fragen.',
    );
    expect(await said(yes, granted, de)).to.equal(
      'Sie haben Ja gesagt: Delete the issue PAY-7 (Jira triage). Der Agent darf es einmal tun, innerhalb von 7 Minuten.',
    );
  });

  it('names nothing that is stored otherwise, is another person’s, or differs from the ledger', async () => {
    const plain = ['You said yes. The agent may do this once.', 'You said no.'];
    for (const stored of [
      undefined,
      'altered',
      anApproval(),
      anApproval({ state: 'expired', closedAt: now }),
    ] as const) {
      expect([await said(yes, stored), await said(no, stored)]).to.deep.equal(plain);
    }
    expect(await said(yes, refused)).to.equal(plain[0]);
    expect(await said(no, granted)).to.equal(plain[1]);
    expect(await said({ ...no, about: TASK }, refused)).to.equal(plain[1]);
    expect(await said({ kind: 'declined', amount: 0 }, refused)).to.equal(plain[1]);
  });

  it('shows hidden characters of the action by their numbers', async () => {
    expect(await said(no, { ...refused, title: 'Pay\u202e <b>' })).to.contain('Pay\\u{202e} &lt;b&gt;');
  });

  it('names the agent of the stopped tasks, by a task of this person', async () => {
    const stopped = (amount: number, about?: string): NoticeFlash => ({
      kind: 'stopped',
      amount,
      ...(about !== undefined && { about }),
    });
    expect(await said(stopped(50, TASK))).to.equal('50 tasks of Jira triage stopped.');
    expect(await said(stopped(1, TASK), undefined, de)).to.equal('1 Aufgabe von Jira triage gestoppt.');
    expect(await said(stopped(0, TASK))).to.equal('No task was running.');
    expect(await said(stopped(0, TASK), undefined, de)).to.equal('Es lief keine Aufgabe.');
    expect(await said(stopped(50))).to.equal('50 tasks stopped.');
    expect(await said(stopped(2, APPROVAL))).to.equal('2 tasks stopped.');
    expect(await said(stopped(2, `task_${'0'.repeat(26)}`))).to.equal('2 tasks stopped.');
  });

  it('asks for the answer after the sign-in for a yes, only while the question waits', async () => {
    const back = { kind: 'signed_in', amount: 0, about: APPROVAL } as const;
    expect(await said(back, anApproval())).to.equal('You are signed in. Now answer.');
    expect(await said(back, anApproval(), de)).to.equal('Sie sind angemeldet. Antworten Sie jetzt.');
    for (const stored of [undefined, 'altered', granted, refused] as const) {
      expect(await said(back, stored)).to.equal(undefined);
    }
  });
});
