/** The purpose that an agent states for a task (`Service:Tasks:Purpose`): its words, its record, and who reads them. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import { delegationAt, heldTask } from '../support/delegation.ts';
import {
  type Answer,
  encodeForm,
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../support/mandate.ts';
import { OPERATORS } from '../support/operators.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';

const ME = 'https://mandate.test/me';
const FORM = 'application/x-www-form-urlencoded';
const WORDS = 'Answer the <b>open</b> issues & \u202eOPS\u2069 + 100% \u{1f469}\u200d\u{1f4bb}';
const STATED = {
  'markup and bidirectional text': WORDS,
  'the name of a prototype': '__proto__',
};

for (const database of databasesByLength) {
  describe(`The purpose of a task on ${database.name}`, () => {
    let accepting: Mandate;
    let requiring: Mandate;
    let off: Mandate;
    let agent: RegisteredAgent;
    let person: string;
    let number = 0;
    before(async () => {
      accepting = await startMandate({
        database,
        settings: {
          ...sharedSigningKey(),
          ...OPERATORS,
          'Service:Me:Audience': ME,
          // Each refusal has its own record.
          'Service:Audit:Aggregation:Enabled': 'false',
          'Service:Tasks:Purpose': 'accept',
        },
      });
      const lists = { 'Service:StatusLists:Enabled': 'true' };
      requiring = await accepting.another({ 'Service:Tasks:Purpose': 'require', ...lists });
      off = await accepting.another({ 'Service:Tasks:Purpose': 'off' });
      agent = await accepting.agent();
    });
    beforeEach(() => {
      number += 1;
      person = `person-${number}`;
    });
    after(async () => {
      for (const service of [off, requiring, accepting]) await service?.stop();
    });

    const exchange = (at: Mandate, form: Readonly<Record<string, string>> = {}): Promise<Answer> =>
      at.post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken({ sub: person }), ...form }));
    const begin = async (at: Mandate, form: Readonly<Record<string, string>> = {}): Promise<string> => {
      const issued = await exchange(at, form);
      expect(issued.status, issued.text).to.equal(200);
      return String(issued.body.task_id);
    };
    const shown = async (taskId: string, at = accepting) => (await at.admin('GET', `/admin/tasks/${taskId}`)).body;
    const mine = async (at = accepting): Promise<unknown> => {
      const authorization = `Bearer ${agent.subjectToken({ sub: person, aud: ME })}`;
      return (await at.get('/me/tasks', { authorization })).body.tasks;
    };
    const sealed = (salt: unknown, words: unknown) =>
      `sha256=${createHash('sha256').update(`${salt}${words}`, 'utf8').digest('hex')}`;

    for (const [what, purpose] of Object.entries(STATED)) {
      it(`is shown to the person and to operators, and the ledger has its hash: ${what}`, async () => {
        let issued: Answer | undefined;
        const lines = await accepting.recorded(async () => {
          issued = await exchange(accepting, { purpose });
          expect(issued.status, issued.text).to.equal(200);
        });
        const taskId = String(issued?.body.task_id);
        const task = await shown(taskId);
        expect(task.purpose).to.equal(purpose);
        expect(task.purpose_salt).to.match(/^[\w-]{43}$/);
        expect(task.records).to.deep.equal(lines.map(({ seq }) => seq));
        expect(await mine())
          .to.have.lengthOf(1)
          .and.to.have.nested.property('[0].purpose', purpose);
        expect(fieldsOf(lines, 'event', 'task_id', 'agent_id', 'sponsor', 'decision', 'reason')).to.deep.equal([
          ['token.issued', taskId, agent.id, person, 'allow', null],
          ['purpose.stated', taskId, agent.id, person, 'allow', null],
        ]);
        const jti = decodeJwt(String(issued?.body.access_token)).jti;
        expect(fieldsOf(lines, 'audience', 'scope', 'jti', 'delegation_depth', 'detail')).to.deep.equal([
          [JIRA, 'jira:read jira:comment', jti, 1, undefined],
          [null, null, null, null, sealed(task.purpose_salt, purpose)],
        ]);
      });
    }

    it('has a new salt for each task, is in no list of operators, and is null for a task without one', async () => {
      const [one, other] = [await begin(accepting, { purpose: 'p' }), await begin(accepting, { purpose: 'p' })];
      expect((await shown(one)).purpose_salt).not.to.equal((await shown(other)).purpose_salt);
      const lines = await accepting.recorded(async () => {
        const none = await begin(accepting, { purpose: '' });
        expect(await shown(none)).to.include({ purpose: null, purpose_salt: null });
      });
      expect(fieldsOf(lines, 'event')).to.deep.equal([['token.issued']]);
      expect((await mine()) as object[]).to.have.nested.property('[0].purpose', null);
      const { body } = await accepting.admin('GET', `/admin/tasks?sponsor=${person}`);
      for (const task of body.tasks as object[]) expect(task).not.to.have.any.keys('purpose', 'purpose_salt');
    });

    it('is kept by a renewal, which takes none', async () => {
      const issued = await exchange(accepting, { purpose: 'p' });
      const lines = await accepting.recorded(async () => {
        const renewed = await agent.refresh(String(issued.body.refresh_token), { purpose: 'another' });
        expect(renewed.status, renewed.text).to.equal(200);
      });
      expect(fieldsOf(lines, 'event')).to.deep.equal([['token.refreshed']]);
      expect((await shown(String(issued.body.task_id))).purpose).to.equal('p');
    });

    const bad: readonly (readonly [string, (form: string) => string, string])[] = [
      ['with a newline', (form) => `${form}&purpose=secret%0Athing`, 'must be 1 to 300'],
      ['of 301 characters', (form) => `${form}&purpose=${'secret'.repeat(50)}x`, 'must be 1 to 300'],
      ['with a lone surrogate', (form) => `${form}&purpose=secret%ED%A0%80`, 'is not well-formed in UTF-8'],
      ['sent twice', (form) => `${form}&purpose=secret&purpose=secret`, 'is repeated'],
    ];
    const sent = (at: Mandate, change: (form: string) => string) => {
      const form = agent.exchangeForm({ subject_token: agent.subjectToken({ sub: person }) });
      const body = change(encodeForm(form));
      return at.send('/oauth2/token', { method: 'POST', headers: { 'content-type': FORM }, body });
    };
    for (const [what, change, problem] of bad) {
      it(`is refused ${what}: named, not echoed, and recorded`, async () => {
        for (const service of [accepting, requiring]) {
          const lines = await accepting.recorded(async () => {
            const { status, body, text } = await sent(service, change);
            expect([status, body.error]).to.deep.equal([400, 'invalid_request']);
            expect(body.error_description).to.match(new RegExp(`^The parameter purpose ${problem}`));
            expect(text).not.to.include('secret');
          });
          expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor')).to.deep.equal([
            ['token.denied', 'invalid_request', null, null],
          ]);
        }
        expect(await mine()).to.deep.equal([]);
      });
    }

    it('is refused if it must be stated and is missing or empty', async () => {
      const lines = await accepting.recorded(async () => {
        for (const form of [{}, { purpose: '' }]) {
          const { status, body } = await exchange(requiring, form);
          expect([status, body.error]).to.deep.equal([400, 'invalid_request']);
          expect(body.error_description).to.equal('The parameter purpose is missing.');
        }
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal(
        Array.from({ length: 2 }, () => ['token.denied', 'invalid_request']),
      );
      // With status lists another way opens the task.
      const taskId = await begin(requiring, { purpose: WORDS });
      expect((await shown(taskId, requiring)).purpose).to.equal(WORDS);
    });

    it('of blanks is none: refused and recorded if it must be stated, otherwise neither stored nor recorded', async () => {
      const blanks = [' ', ' '.repeat(300), '\u00a0', '\u200b', '\u3164', '\ufe0f', '\u202e\u2800 ', '\u2028'];
      const lines = await accepting.recorded(async () => {
        for (const purpose of blanks) {
          const { status, body } = await exchange(requiring, { purpose });
          const named = `U+${purpose.codePointAt(0)?.toString(16)}`;
          expect([status, body.error], named).to.deep.equal([400, 'invalid_request']);
          expect(body.error_description).to.equal('The parameter purpose must show at least one character.');
        }
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal(blanks.map(() => ['token.denied', 'invalid_request']));
      const issued = await accepting.recorded(async () => {
        for (const purpose of blanks) {
          expect((await shown(await begin(accepting, { purpose }))).purpose).to.equal(null);
        }
      });
      expect(fieldsOf(issued, 'event')).to.deep.equal(blanks.map(() => ['token.issued']));
    });

    it('is ignored with off, as every unknown parameter: no member, no record, and the sentences of before', async () => {
      const lines = await accepting.recorded(async () => {
        for (const purpose of [WORDS, 'a\nb', 'p'.repeat(301)]) {
          const task = await shown(await begin(off, { purpose }), off);
          expect(task).not.to.have.any.keys('purpose', 'purpose_salt');
        }
      });
      expect(fieldsOf(lines, 'event')).to.deep.equal([['token.issued'], ['token.issued'], ['token.issued']]);
      for (const task of (await mine(off)) as object[]) expect(task).not.to.have.property('purpose');
      const sentences = [];
      for (const [, change] of bad.slice(-2)) sentences.push((await sent(off, change)).body.error_description);
      expect(sentences).to.deep.equal(['The body is not a well-formed form in UTF-8.', 'A parameter is repeated.']);
    });

    it('is stated at a take-up too; an offer needs none', async () => {
      const handing = await requiring.another({ 'Service:Delegation:Enabled': 'true' });
      try {
        const at = delegationAt(handing);
        const child = await handing.agent({ max_delegation_depth: 2 });
        const parent = await handing.agent({ max_delegation_depth: 2, delegates_to: [child.id] });
        const { grant } = heldTask(await handing.post('/oauth2/token', parent.exchangeForm({ purpose: 'p' })));
        const offer = await at.offer(parent, child, grant);
        const missing = await at.take(child, offer);
        expect([missing.status, missing.body.error]).to.deep.equal([400, 'invalid_request']);
        let taskId = '';
        const lines = await handing.recorded(async () => {
          ({ taskId } = heldTask(await at.take(child, offer, { purpose: WORDS })));
        });
        expect((await shown(taskId, handing)).purpose).to.equal(WORDS);
        expect(fieldsOf(lines, 'event', 'task_id')).to.deep.equal([
          ['token.issued', taskId],
          ['purpose.stated', taskId],
          ['delegation.taken', taskId],
        ]);
      } finally {
        await handing.stop();
      }
    });

    it('that was stored before it was turned off is still shown', async () => {
      const taskId = await begin(accepting, { purpose: 'p' });
      expect(await shown(taskId, off)).to.include({ purpose: 'p' });
      expect(await mine(off)).to.have.nested.property('[0].purpose', 'p');
    });
  });
}
