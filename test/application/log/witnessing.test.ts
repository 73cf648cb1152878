import { expect } from 'chai';
import { httpWitnesses } from '../../../adapters/outbound/http-witnesses.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { openHandle } from '../../../adapters/storage/sqlite/handle.ts';
import { logWitnessing } from '../../../application/log/witnessing.ts';
import type { AskWitness } from '../../../application/ports/log-witnesses.ts';
import { chainOf } from '../../support/ledger/chain.ts';
import type { ServedWitness } from '../../support/log/served-witness.ts';
import { PATIENCE_MS, witnessedLogForEachTest } from '../../support/log/witnessed-log.ts';

describe('The witnessing of the log', function () {
  this.timeout(60_000);
  const logged = witnessedLogForEachTest();
  const { clock, log, witnesses, grow, grown, serviceOf, witnessed, stateOf, problems, published, copied } = logged;

  it('publishes the note with the cosignatures of all witnesses, each time that the log has grown', async () => {
    const three = await witnesses(3);
    const names = three.map(({ vkey }) => vkey.split('+')[0]);
    for (const by of [1, 1, 4, 260]) {
      await grown(by);
      await witnessed(three);
      expect(await published()).to.deep.equal({ size: (await stateOf()).size, names });
    }
    expect(log.lines).to.deep.equal([]);
  });

  it('shows a witness each tree once, again after an hour, and none before the first tree', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    const asked: string[] = [];
    const ask: AskWitness = (one, body) => {
      asked.push(body);
      return httpWitnesses(httpNetwork(), PATIENCE_MS)(one, body);
    };
    const pass = logWitnessing(serviceOf([witness], { ask }));
    await pass();
    await grown(2);
    for (let time = 0; time < 3; time += 1) await pass();
    expect(asked).to.have.length(1);
    const before = (await stateOf()).published?.note;
    clock.advance(3601);
    for (let time = 0; time < 3; time += 1) await pass();
    expect(asked).to.have.length(2);
    expect((await stateOf()).published?.note).not.to.equal(before);
    await grown(1);
    await pass();
    expect(asked).to.have.length(3);
  });

  it('publishes nothing newer until a quorum has cosigned', async () => {
    const [one, two, three] = (await witnesses(3)) as [ServedWitness, ServedWitness, ServedWitness];
    await grown(3);
    await witnessed([one, two, three], { quorum: 2 });
    await two.goDown();
    await three.goDown();
    await grown(2);
    await witnessed([one, two, three], { quorum: 2 });
    expect((await published()).size).to.equal(3);
    await two.comeBack();
    await witnessed([one, two, three], { quorum: 2 });
    expect(await published()).to.deep.equal({ size: 5, names: ['witness.test/0', 'witness.test/1'] });
    await three.comeBack();
  });

  it('waits for a witness that is down for a day, says so once, and needs one request when it is back', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(2);
    await witnessed([witness]);
    await witness.goDown();
    for (let hour = 0; hour < 24; hour += 1) {
      await grown(1);
      clock.advance(3600);
      await witnessed([witness]);
    }
    expect(await problems()).to.deep.equal([['witness.test/0', 'unavailable', 'There was no answer (ECONNREFUSED).']]);
    const [{ since } = { since: 0 }] = await logged.fixture.storage.transparencyLog.problems();
    expect((clock.now() - since) / 3.6e9).to.be.closeTo(23, 0.1);
    await witness.comeBack();
    let requests = 0;
    const ask: AskWitness = (one, body) => {
      requests += 1;
      return httpWitnesses(httpNetwork(), PATIENCE_MS)(one, body);
    };
    await witnessed([witness], { ask });
    expect([requests, (await published()).size, await problems()]).to.deep.equal([1, 26, []]);
    expect(log.lines.map((line) => JSON.parse(line).message)).to.deep.equal([
      'a witness does not cosign the log',
      'a witness cosigns the log again',
    ]);
  });

  it('resends from the size that the witness names', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(3);
    await witnessed([witness]);
    logged.fixture.withoutTriggers.exec('delete from log_cosignatures');
    await grown(4);
    await witnessed([witness]);
    expect([await published(), log.lines]).to.deep.equal([{ size: 7, names: ['witness.test/0'] }, []]);
  });

  it('says of a witness that it has lost its state, and lets it cosign again', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(3);
    await witnessed([witness]);
    const state = openHandle(witness.path);
    state.exec('drop trigger never_forgotten; delete from witnessed_logs');
    state.close();
    await grown(1);
    await witnessed([witness]);
    expect((await published()).size).to.equal(4);
    expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      {
        level: 'warn',
        message: 'a witness has lost checkpoints that it cosigned',
        witness: 'witness.test/0',
        cosigned: 3,
        named: 0,
      },
    ]);
  });

  it('lets the passes of several replicas run together', async () => {
    const two = await witnesses(2);
    await grown(5);
    await Promise.all(Array.from({ length: 5 }, () => witnessed(two)));
    expect((await published()).names).to.deep.equal(['witness.test/0', 'witness.test/1']);
    expect([await problems(), (await stateOf()).halted]).to.deep.equal([[], undefined]);
  });

  it('does not take a larger tree of another replica for a database that went back in time', async () => {
    const [witness] = (await witnesses(1)) as [ServedWitness];
    await grown(2);
    const ask: AskWitness = async (one, body) => {
      await grown(3);
      await witnessed([witness]);
      return httpWitnesses(httpNetwork(), PATIENCE_MS)(one, body);
    };
    await witnessed([witness], { ask });
    expect([(await stateOf()).halted, await problems()]).to.deep.equal([undefined, []]);
    expect((await published()).size).to.equal(5);
  });

  describe('finds and names', () => {
    it('a restored backup: the log halts, and no further tree is signed', async () => {
      const [witness] = (await witnesses(1)) as [ServedWitness];
      for (const by of [2, 1]) {
        await grown(by);
        await witnessed([witness]);
      }
      const { storage: backup } = await copied();
      await grown(2);
      await witnessed([witness]);

      expect((await published(backup)).size).to.equal(3);
      await witnessed([witness], {}, backup);
      const detail = '5 leaves, and the database has 3.';
      expect(await published(backup)).to.deep.equal({ size: 2, names: ['witness.test/0'] });
      expect((await stateOf(backup)).halted).to.equal(
        `The witness witness.test/0 has cosigned a larger tree: ${detail}`,
      );
      expect(await problems(backup)).to.deep.equal([['witness.test/0', 'ahead', detail]]);
      expect((await grow(backup)).kind).to.equal('halted');
      expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
        {
          level: 'warn',
          message: 'a witness does not cosign the log',
          witness: 'witness.test/0',
          problem: `The witness witness.test/0 has cosigned a larger tree: ${detail}`,
        },
      ]);
    });

    it('a tail that was cut off, also if the tables of the log were emptied', async () => {
      const [witness] = (await witnesses(1)) as [ServedWitness];
      await grown(5);
      await witnessed([witness]);
      logged.fixture.withoutTriggers.exec(`delete from ledger where seq > (select last_seq from checkpoints where checkpoint_id = 3);
        delete from checkpoints where checkpoint_id > 3;
        delete from log_state; delete from log_tiles; delete from log_cosignatures`);
      await logged.fixture.restart();
      await grown(0);
      await witnessed([witness]);
      expect(await problems()).to.deep.equal([['witness.test/0', 'ahead', '5 leaves, and the database has 3.']]);
    });

    for (const after of [0, 3]) {
      it(`checkpoints that the owner of database and keys rewrote, ${after} of them new`, async () => {
        const [witness] = (await witnesses(1)) as [ServedWitness];
        await grown(3);
        await witnessed([witness]);
        const before = await stateOf();
        logged.fixture.withoutTriggers.exec(`delete from checkpoints where checkpoint_id > 1;
          update ledger set sponsor = 'eve' where seq = 2;
          delete from log_state; delete from log_tiles; delete from log_cosignatures`);
        expect((await logged.fixture.seal()).kind).to.equal('sealed');
        await grown(1 + after);
        expect((await stateOf()).size).to.equal(before.size + after);
        await witnessed([witness]);
        expect(await problems()).to.deep.equal([['witness.test/0', 'contradicted', undefined]]);
        expect((await stateOf()).published).to.equal(undefined);
      });
    }

    it('two databases with one key that show two ends to two readers: the witness that both ask', async () => {
      const [one, other, both] = (await witnesses(3)) as [ServedWitness, ServedWitness, ServedWitness];
      await grown(3);
      await witnessed([one, other, both]);
      const fork = await copied();
      // The clock of the second database's records differs, so its checkpoints do.
      logged.fixture.clock.advance(60);
      await grown(2);
      const line = openHandle(fork.path);
      line.exec('insert into ledger (ts, event, decision) select ts + 1, event, decision from ledger where seq = 1');
      line.close();
      const { checkpoints } = fork.storage;
      await logged.fixture.seal({ checkpoints, chain: chainOf(checkpoints) });
      await grow(fork.storage);
      // Each end has a different witness, and both are cosigned.
      await witnessed([one]);
      await witnessed([other], {}, fork.storage);
      expect([await published(), await published(fork.storage)]).to.deep.equal([
        { size: 5, names: ['witness.test/0'] },
        { size: 4, names: ['witness.test/1'] },
      ]);
      expect([await problems(), await problems(fork.storage)]).to.deep.equal([[], []]);
      await witnessed([one, both]);
      await witnessed([other, both], {}, fork.storage);
      expect((await problems(fork.storage)).map(([name]) => name)).to.deep.equal(['witness.test/2']);
    });
  });
});
