/** An operator, SCIM and Shared Signals block one person concurrently. test/application has the acts in sequence. */

import { expect } from 'chai';
import fc from 'fast-check';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import { type Act, anyAct, blockModel, inBrief } from '../support/block-model.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { repetitions } from './repetitions.ts';
import { anOpening, newSponsorKey, openedTask, registeredAgent } from './storage-fixtures.ts';

const RUNS = repetitions(12);

onEveryDatabase(
  'concurrent blocks of several sources',
  ({ database }) => {
    it('end as each source last requested, from three processes; no task outlives a block, and each act is recorded', async function () {
      this.timeout(120_000);
      const open = () => database().open();
      const processes = [await open(), await open(), await open()] as const;
      const [first, second, third] = processes;
      const agent = await registeredAgent(first);
      const several = (act: fc.Arbitrary<Act>) => fc.array(act, { minLength: 3, maxLength: 8 });
      const histories = fc.tuple(
        several(anyAct.admin),
        several(anyAct.scim),
        several(anyAct.self),
        several(anyAct.ssf),
      );
      let micros = 0;
      await fc.assert(
        fc.asyncProperty(histories, async ([ofOperator, ofScim, ofPerson, ofSignals]) => {
          const sponsorKey = newSponsorKey();
          const person = blockModel(sponsorKey);
          const opened = [await openedTask(first, { sponsorKey }, agent)];
          const inOrder = async (process: Storage, acts: readonly Act[]) => {
            const records: string[] = [];
            for (const act of acts) {
              micros += 1;
              records.push(...(await person.act(process, act, instantFromMicros(NOON + micros))));
            }
            return records;
          };
          const exchanges = async () => {
            for (let nth = 0; nth < 4; nth++) {
              const opening = anOpening(agent, { sponsorKey });
              if ((await second.tasks.open(opening)).kind === 'opened') opened.push(opening);
            }
            return [];
          };
          const before = new Set((await recordsOf(first, sponsorKey)).map(({ seq }) => seq));
          const expected = await Promise.all([
            inOrder(first, ofOperator),
            inOrder(second, ofScim),
            inOrder(second, ofPerson),
            inOrder(third, ofSignals),
            exchanges(),
          ]);
          const left = person.blocks();
          for (const process of processes) {
            expect(await process.sponsors.findBlocks(sponsorKey)).to.have.deep.members(left);
          }
          const records = (await recordsOf(third, sponsorKey)).filter(({ seq }) => !before.has(seq));
          expect(records.map(inBrief).sort()).to.deep.equal(expected.flat().sort());
          if (left.length === 0) return;
          for (const { task, grantHash } of opened) {
            const grant = await first.tasks.findGrant(task.agentId, grantHash);
            expect(grant?.taskState.kind).to.equal('revoked');
          }
        }),
        { numRuns: RUNS },
      );
      await Promise.all(processes.map((process) => process.close()));
    });
  },
  databases,
);

/** The records of the blocks and lifts, which name the person by sponsor key. */
async function recordsOf(storage: Storage, sponsor: SponsorKey): Promise<readonly LedgerRecord[]> {
  return (await storage.ledger.page({ sponsor, limit: 1_000, now: NOON })).records;
}
