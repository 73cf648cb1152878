/** `audit-archive` after an interruption, and with a file of the export's name. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type Archiving, archive } from '../../../application/ledger/archive.ts';
import type { OpenExport } from '../../../application/ports/exports.ts';
import { describeStop } from '../../../domain/ledger/archiving.ts';
import { runMandate } from '../../support/cli-run.ts';
import { startCommand } from '../../support/command-process.ts';
import { byLength } from '../../support/length.ts';
import type { Archives } from './archives.ts';
import { FILES, type Fixture, partitions, THIS_MONTH } from './archives.ts';

/** Whether processes are killed too. In the short run, the steps below fail in the process of the test. */
const isKilled = byLength({ short: false, full: true });
/** The times at which runs are killed, relative to the duration of a run that archives nothing. */
const KILLED_AT = [0.6, 0.8, 0.9, 1, 1.1, 1.2];

type Step = 'prepare' | 'find' | 'draft' | 'publish' | 'record' | 'remove' | 'exported';
const STEPS: readonly Step[] = ['prepare', 'find', 'draft', 'publish', 'record', 'remove', 'exported'];
/** In the short run, before and after the steps that leave something behind. */
const FAILED: readonly Step[] = byLength<readonly Step[]>({ short: ['draft', 'record', 'remove'], full: STEPS });

export function testInterruptions(suite: Archives): void {
  const { fixture, keep, whileSealing, ageDrafts, expectAllArchived } = suite;

  describe('after an interruption', () => {
    class Interrupted extends Error {}

    /** Lets call number `nth` of a step fail, before or after it has its effect. */
    function interrupted(archiving: Archiving, step: Step, when: 'before' | 'after', nth: number): Archiving {
      let calls = 0;
      const wrap =
        <Given extends unknown[], Answer>(name: Step, work: (...given: Given) => Promise<Answer>) =>
        async (...given: Given): Promise<Answer> => {
          const fails = name === step && ++calls === nth;
          if (fails && when === 'before') throw new Interrupted();
          const answer = await work(...given);
          if (!fails) return answer;
          // The end of a process closes its files.
          if (typeof answer === 'object' && answer !== null && 'close' in answer)
            await (answer as unknown as OpenExport).close();
          throw new Interrupted();
        };
      const { folder, archives } = archiving;
      return {
        ...archiving,
        folder: {
          prepare: wrap('prepare', folder.prepare),
          find: wrap('find', folder.find),
          draft: wrap('draft', async (month, lines) => {
            const draft = await folder.draft(month, lines);
            return { ...draft, publish: wrap('publish', draft.publish) };
          }),
          withdraw: folder.withdraw,
        },
        archives: {
          exclusively: archives.exclusively,
          databaseTime: archives.databaseTime,
          heldBefore: archives.heldBefore,
          exported: wrap('exported', archives.exported),
          record: wrap('record', archives.record),
          remove: wrap('remove', archives.remove),
        },
      };
    }

    for (const step of FAILED) {
      for (const when of ['before', 'after'] as const) {
        it(`archives every record once if earlier runs failed ${when} the step "${step}"`, async () => {
          const made = await fixture();
          for (const nth of [1, 2]) {
            const run = interrupted(made.archiving, step, when, nth);
            await archive(THIS_MONTH, run).then(
              ({ stop }) => expect(stop).to.equal(undefined),
              (error) => expect(error).to.be.instanceOf(Interrupted),
            );
            const there = await made.owner.sql('select count(*)::integer as held from ledger where seq <= 20');
            const left = await partitions(made.owner);
            // Five records of the second checkpoint are in October.
            const expected = left.includes('ledger_2026_09') ? 20 : left.includes('ledger_2026_10') ? 5 : 0;
            expect(there[0]?.held).to.equal(expected);
          }
          ageDrafts(made);
          const last = await archive(THIS_MONTH, made.archiving);
          expect(last.stop && describeStop(last.stop)).to.equal(undefined);
          await expectAllArchived(made);
          const events = await made.owner.sql("select detail from ledger where event = 'audit.archived' and seq > 28");
          expect(events).to.have.length(2);
        });
      }
    }

    if (isKilled) {
      it('archives every record once, whenever earlier runs were killed', async function () {
        const { key } = suite;
        this.timeout(120_000);
        const made = await fixture();
        const settings = { ...made.database.settings, 'Service:Signing:Keys:0:Pem': key.pem };
        const line = ['audit-archive', '--before', '2026-11', '--to', made.directory];
        // How long a run takes to start depends on the machine.
        const began = performance.now();
        await runMandate(['audit-archive', '--before', '2026-01', '--to', made.directory], settings);
        const usual = performance.now() - began;
        for (const share of KILLED_AT) {
          const { child, ended } = startCommand(line, settings);
          const timer = setTimeout(() => child.kill('SIGKILL'), usual * share);
          await whileSealing(made, () => ended);
          clearTimeout(timer);
        }
        ageDrafts(made);
        // Postgres may not have closed the session of the last killed run yet.
        let end = await whileSealing(made, () => runMandate(line, settings));
        for (let tries = 0; end.err.includes('Another audit-archive') && tries < 20; tries += 1) {
          end = await whileSealing(made, () => runMandate(line, settings));
        }
        expect(end.code, end.err).to.equal(0);
        await expectAllArchived(made);
      });
    }
  });

  describe('if a file with the name of the export exists', () => {
    async function standing(): Promise<{ made: Fixture; path: string; text: string }> {
      const made = await fixture();
      const { archiving } = made;
      const dying = { ...archiving.archives, remove: () => Promise.reject(new Error('gone')) };
      await archive(THIS_MONTH, { ...archiving, archives: dying }).catch(() => undefined);
      const path = join(made.directory, FILES[0] ?? '');
      return { made, path, text: gunzipSync(readFileSync(path)).toString() };
    }

    const alterations: readonly (readonly [string, (text: string) => Buffer])[] = [
      ['is truncated', (text) => gzipSync(text).subarray(0, -20)],
      ['has an altered record', (text) => gzipSync(text.replace('agent-7', 'agent-8'))],
      ['is of another month', (text) => gzipSync(text.replace('2026-09', '2026-08'))],
    ];
    let kept: Awaited<ReturnType<typeof standing>> | undefined;
    for (const [title, alter] of alterations) {
      it(`refuses an existing file that ${title}, names its path and drops no partition`, async () => {
        if (kept === undefined) {
          kept = await standing();
          keep(kept.made);
        }
        const { made, path, text } = kept;
        const altered = alter(text);
        writeFileSync(path, altered);
        const { months, stop } = await archive(THIS_MONTH, made.archiving);
        expect(months).to.equal(0);
        expect(stop).to.include({ kind: 'export_differs', location: path });
        expect(readFileSync(path).equals(altered), 'never overwritten').to.equal(true);
        expect(await partitions(made.owner)).to.include('ledger_2026_09');
      });
    }

    it('accepts an existing file with the same export', async () => {
      const { made, path, text } = await standing();
      // The same export, compressed in another way.
      writeFileSync(path, gzipSync(text, { level: 1 }));
      expect(await archive(THIS_MONTH, made.archiving)).to.deep.equal({ months: 2, stop: undefined });
      await expectAllArchived(made);
    });

    it('does not overwrite a file that another process creates during the export', async () => {
      const made = await fixture();
      const { folder } = made.archiving;
      const path = join(made.directory, FILES[0] ?? '');
      const draft: typeof folder.draft = async (month, lines) => {
        const written = await folder.draft(month, lines);
        writeFileSync(path, 'somebody else');
        return written;
      };
      const { stop } = await archive(THIS_MONTH, { ...made.archiving, folder: { ...folder, draft } });
      expect(stop).to.include({ kind: 'export_differs', location: path });
      expect(readFileSync(path, 'utf8')).to.equal('somebody else');
      expect(readdirSync(made.directory)).to.have.length(1);
    });
  });
}
