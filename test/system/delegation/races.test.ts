/**
 * Requests about one tree at the same time, at two replicas. The records in their order show that each ended as one after the
 * other (ledger-tree.ts).
 */

import { expect } from 'chai';
import { refuseDelegation } from '../../../application/decisions/delegation-refusal.ts';
import { repetitions } from '../../contract/repetitions.ts';
import { anEntry } from '../../contract/storage-fixtures.ts';
import { databases, postgres } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask, takeUpForm } from '../../support/delegation.ts';
import { byLength } from '../../support/length.ts';
import {
  type Answer,
  fieldsOf,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  recordsOf,
  startMandate,
} from '../../support/mandate.ts';
import { sendPair } from '../../support/replicas/request-pairs.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { treesOf } from './ledger-tree.ts';

/** Of the five orders of a pair, the short run has the two that send both at almost the same time. */
const ROUNDS = repetitions(2, 200);
/** The offers of a tree whose root is killed. */
const TAKE_UPS = byLength({ short: 12, full: 200 });
const KILLS = byLength({ short: 1, full: 10 });
/** How often a take-up is sent that gets a 503. Each attempt waits for two seconds. */
const ATTEMPTS = 50;
/** How many live tasks may be below one, at the replicas that are short of places. */
const PLACES = 2;
const WIDE = 'jira:read jira:comment';

for (const database of byLength({ short: [postgres], full: databases })) {
  describe(`Races of hand-overs on ${database.name}`, function () {
    this.timeout(60_000 + ROUNDS * 2_000);
    let replicas: readonly [Mandate, Mandate];
    let short: readonly [Mandate, Mandate];
    let root: RegisteredAgent;
    let lead: RegisteredAgent;
    let leaf: RegisteredAgent;
    let people = 0;
    before(async () => {
      const settings = {
        ...sharedSigningKey(),
        'Service:Audit:Aggregation:Enabled': 'false',
        'Service:Overload:Enabled': 'false',
        'Service:Delegation:Enabled': 'true',
        'Service:Delegation:MaxDepth': '3',
        'Service:Delegation:MaxChildrenPerTask': '1000',
      };
      const one = await startMandate({ database, settings });
      const more = (changes = {}) => one.another(changes, undefined, { clock: one.clock });
      const places = { 'Service:Delegation:MaxChildrenPerTask': String(PLACES) };
      replicas = [one, await more()];
      short = [await more(places), await more(places)];
      leaf = await one.agent({ max_delegation_depth: 3 });
      lead = await one.agent({ max_delegation_depth: 3, delegates_to: [leaf.id] });
      root = await one.agent({ max_delegation_depth: 3, delegates_to: [lead.id, leaf.id] });
    });
    after(async () => {
      for (const replica of [...short, ...replicas.toReversed()]) await replica.stop();
    });

    const at = (nth: number, of = replicas) => of[nth % 2 === 0 ? 0 : 1];
    /**
     * Sends a take-up, and the same request again after a 503. Take-ups of one parent wait for each other. On a busy machine some
     * wait for more than two seconds, and get a 503. If such an attempt had spent its assertion or its offer, the next one would be
     * refused.
     */
    const toTake = (by: RegisteredAgent, offer: string, replica: Mandate) => async () => {
      const form = takeUpForm(by, offer);
      for (let attempt = 1; ; attempt++) {
        const answer = await replica.post('/oauth2/token', form);
        if (answer.status !== 503 || attempt === ATTEMPTS) return answer;
      }
    };

    /** A task of the first agent, and one of the second below it, of a person of their own. */
    async function aTree() {
      people += 1;
      const sub = `person-${people}`;
      const there = delegationAt(replicas[0]);
      const top = heldTask(await root.exchangeFor({ sub }, { scope: WIDE }));
      const middle = await there.handOver(root, lead, top);
      return { sub, top, middle, offer: (task = middle, by = lead) => there.offer(by, leaf, task.grant) };
    }

    const recordsOfPerson = (sub: string): Promise<readonly LedgerLine[]> =>
      recordsOf(replicas[0].admin, `&sponsor=${sub}`);

    const brief = (answer: Answer) => String(answer.body.reason ?? answer.body.error ?? 'granted');

    async function activeTokens(tasks: readonly HeldTask[]): Promise<readonly string[]> {
      const said = await Promise.all(tasks.map(({ token }, nth) => at(nth).introspect(token)));
      return tasks.filter((_, nth) => said[nth]?.active !== false).map(({ taskId }) => taskId);
    }

    it(`a kill of the root leaves nothing live of ${TAKE_UPS} take-ups, and ends each task once`, async () => {
      for (let round = 0; round < KILLS; round++) {
        const { sub, top, middle, offer } = await aTree();
        const offers = [];
        for (let nth = 0; nth < TAKE_UPS; nth++) {
          offers.push(await (nth % 3 === 0 ? offer(top, root) : offer()));
        }
        const taking = offers.map((each, nth) => toTake(leaf, each, at(nth))());
        // Until the kill nothing refuses a take-up, so the first answer begins a task.
        expect(brief(await Promise.race(taking))).to.equal('granted');
        const killed = await at(round).admin('DELETE', `/admin/tasks/${top.taskId}`);
        const answers = await Promise.all(taking);
        const begun = answers.filter(({ status }) => status === 200).map(heldTask);
        for (const answer of answers) expect(brief(answer), answer.text).to.be.oneOf(['granted', 'parent_ended']);
        expect(killed.body.revoked_tasks, killed.text).to.equal(begun.length + 2);
        expect(await activeTokens([top, middle, ...begun])).to.deep.equal([]);
        const lines = await recordsOfPerson(sub);
        expect(treesOf(lines)).to.have.property('size', begun.length + 2);
        expect(lines.filter(({ event }) => event === 'task.revoked')).to.have.length(begun.length + 2);
        expect(lines.filter(({ reason }) => reason === 'parent_ended')).to.have.length(TAKE_UPS - begun.length);
      }
    });

    /** Sends two requests in each order, round after round, and returns what was answered. */
    async function rounds(
      prepare: (
        nth: number,
        tree: Awaited<ReturnType<typeof aTree>>,
      ) => Promise<{
        readonly one: () => Promise<Answer>;
        readonly other: () => Promise<Answer>;
        readonly check: (pair: readonly [Answer, Answer], lines: readonly LedgerLine[]) => Promise<void> | void;
      }>,
    ): Promise<void> {
      for (let nth = 0; nth < ROUNDS; nth++) {
        const tree = await aTree();
        const { one, other, check } = await prepare(nth, tree);
        const pair = await sendPair(nth, one, other);
        const lines = await recordsOfPerson(tree.sub);
        treesOf(lines);
        await check([pair.one.answer, pair.other.answer], lines);
      }
    }

    it('a narrowing of the task above, or of the one above that, comes before a take-up or after it', () =>
      rounds(async (nth, { top, middle, offer }) => {
        const offered = await offer();
        const [holder, task] = nth % 2 === 0 ? [root, top] : [lead, middle];
        return {
          one: toTake(leaf, offered, at(nth)),
          other: () => at(nth + 1).post('/oauth2/token', holder.refreshForm(task.grant, { scope: 'jira:read' })),
          check: ([took, narrowed]) => {
            expect(narrowed.body.scope, narrowed.text).to.equal('jira:read');
            expect(took.body.scope, took.text).to.be.oneOf([WIDE, 'jira:read']);
          },
        };
      }));

    it('a narrowing of the root comes before a renewal below it or after it', () =>
      rounds(async (nth, { top, middle }) => ({
        one: () => at(nth).post('/oauth2/token', lead.refreshForm(middle.grant)),
        other: () => at(nth + 1).post('/oauth2/token', root.refreshForm(top.grant, { scope: 'jira:read' })),
        check: ([renewed, narrowed]) => {
          expect(narrowed.status, narrowed.text).to.equal(200);
          expect(renewed.body.scope, renewed.text).to.be.oneOf([WIDE, 'jira:read']);
        },
      })));

    it('no task is renewed after an agent above it was disabled', () =>
      rounds(async (nth, { middle }) => {
        const below = heldTask(
          await toTake(leaf, await delegationAt(replicas[0]).offer(lead, leaf, middle.grant), at(nth))(),
        );
        const above = nth % 2 === 0 ? root : lead;
        return {
          one: () => at(nth).post('/oauth2/token', leaf.refreshForm(below.grant)),
          other: () => at(nth + 1).admin('PATCH', `/admin/agents/${above.id}`, { enabled: false }),
          check: async ([renewed, disabled], lines) => {
            expect(disabled.status, disabled.text).to.equal(200);
            expect(brief(renewed)).to.be.oneOf(['granted', 'ancestor_disabled']);
            expect(await activeTokens([below])).to.deep.equal([]);
            const changes = await recordsOf(replicas[0].admin, `&agent_id=${above.id}`);
            const end = Math.max(...changes.filter(({ event }) => event === 'agent.updated').map(({ seq }) => seq));
            const renewals = lines.filter(({ event }) => event === 'token.refreshed');
            expect(renewals.map(({ seq }) => seq < end)).to.deep.equal(brief(renewed) === 'granted' ? [true] : []);
            await at(nth).admin('PATCH', `/admin/agents/${above.id}`, { enabled: true });
          },
        };
      }));

    it('the last free place is taken once', () =>
      rounds(async (nth, { middle, offer }) => {
        const offers = [await offer(), await offer(), await offer()] as const;
        const first = heldTask(await toTake(leaf, offers[0], at(nth, short))());
        expect(await activeTokens([first, middle])).to.have.length(PLACES);
        return {
          one: toTake(leaf, offers[1], at(nth, short)),
          other: toTake(leaf, offers[2], at(nth + 1, short)),
          check: (answers, lines) => {
            expect(answers.map(brief)).to.have.members(['granted', 'too_many_children']);
            expect(
              fieldsOf(
                lines.filter(({ decision }) => decision === 'deny'),
                'event',
                'reason',
              ),
            ).to.deep.equal([['token.denied', 'too_many_children']]);
          },
        };
      }));

    it('an offer is taken up once, whichever replicas it reaches', () =>
      rounds(async (nth, { offer }) => {
        const offered = await offer();
        return {
          one: toTake(leaf, offered, at(nth)),
          other: toTake(leaf, offered, at(nth + 1)),
          check: (answers, lines) => {
            expect(answers.map(brief)).to.have.members(['granted', 'invalid_grant']);
            expect(
              fieldsOf(
                lines.filter(({ decision }) => decision === 'deny'),
                'event',
                'reason',
              ),
            ).to.deep.equal([['token.denied', 'delegation_offer_spent']]);
          },
        };
      }));

    it('no offer is taken up after the person refused that its agent hands work over', () =>
      rounds(async (nth, { sub, offer }) => {
        const offered = await offer();
        const { storage, clock } = at(nth + 1);
        return {
          one: toTake(leaf, offered, at(nth)),
          other: async () => {
            const entry = anEntry('delegation.refused', { at: clock.now(), sponsor: sub });
            const choice = { sponsorKey: sub as never, agentId: lead.id as never, entry };
            expect(await storage.decide(refuseDelegation, choice)).to.equal('done');
            return at(nth).get('/healthz');
          },
          check: ([took], lines) => {
            const isTaken = brief(took) === 'granted';
            const events = lines
              .toSorted((one, other) => one.seq - other.seq)
              .map(({ event, reason }) => reason ?? event)
              .slice(-(isTaken ? 3 : 2));
            expect(events).to.deep.equal(
              isTaken
                ? ['token.issued', 'delegation.taken', 'delegation.refused']
                : ['delegation.refused', 'delegation_refused_by_person'],
            );
          },
        };
      }));
  });
}
