/** What a process knows of the primary while the servers tell less than before. */

import { expect } from 'chai';
import pg from 'pg';
import { ledgerMemory } from '../../../../../adapters/storage/ledger-memory.ts';
import { NotThePrimary } from '../../../../../adapters/storage/postgres/errors.ts';
import { type Ask, IDENTITY, type IdentityRow } from '../../../../../adapters/storage/postgres/pool/capabilities.ts';
import { knownPrimary } from '../../../../../adapters/storage/postgres/pool/primary.ts';
import { capturedLog } from '../../../../support/captured-log.ts';

describe('The known primary', () => {
  /** A server that answers for its identity alone. @param timeline `undefined`: it refuses to tell it */
  const server = (timeline: string | undefined, standby = false): Ask => {
    const row: IdentityRow = { standby, timeline: timeline ?? null, pid: 7, started_at: 'now' };
    return (async (query: { readonly name: string; readonly text: string }) => {
      if (query.text !== IDENTITY.text || timeline !== undefined) {
        const rows = query.name.startsWith('server_identity') ? [row] : [];
        return { rows, count: rows.length };
      }
      throw Object.assign(new pg.DatabaseError('not now', 7, 'error'), { code: '55000' });
    }) as Ask;
  };
  const refusal = (examined: Promise<unknown>) => examined.catch((error: unknown) => error);

  it('stays known after a server that no longer tells its timeline: an old primary that tells it is refused', async () => {
    const log = capturedLog();
    const primary = knownPrimary(ledgerMemory(), log);
    const told = await primary.examine(server('0000000A'));
    const silent = await primary.examine(server(undefined));
    expect([told.timeline, silent.timeline]).to.deep.equal([10, undefined]);
    const warnings = () => log.lines.filter((line) => line.includes('Postgres lacks a capability'));
    expect(warnings()).to.have.lengthOf(1);
    expect(await refusal(primary.examine(server('00000009')))).to.be.instanceOf(NotThePrimary);
    expect(primary.isOutdated({ ...told, timeline: 9 })).to.equal(true);
    expect((await primary.examine(server('0000000A'))).timeline).to.equal(10);
    await primary.examine(server(undefined));
    expect(warnings()).to.have.lengthOf(1);
  });

  it('is no standby, also one that refuses to tell its timeline', async () => {
    const primary = knownPrimary(ledgerMemory(), capturedLog());
    expect(await refusal(primary.examine(server(undefined, true)))).to.be.instanceOf(NotThePrimary);
  });
});
