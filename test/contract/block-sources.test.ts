/**
 * An operator, SCIM and Shared Signals block one person, in any order and at once. Each has a block of its own: what it
 * leaves is what it said last, whatever the others say meanwhile, and each act has the record that it has alone.
 */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { ulid } from 'ulid';
import { makeUserId, type SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import type { LedgerRecord } from '../../domain/ledger/record.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { statementsOf } from '../../domain/signals/provisioning-statement.ts';
import type { BlockKind, BlockSource, SponsorBlock } from '../../domain/sponsors/block.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';
import { holdAppends } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { rounds } from './rounds.ts';
import { anEntry, anOpening, newSponsorKey, openedTask, recordedBy, registeredAgent } from './scene.ts';

const RUNS = rounds(12);

type OperatorAct = 'block' | 'lift';
type ScimAct = 'off' | 'on' | 'remove';
/** With the `iat` of its token, in seconds after noon. */
type SignalAct = readonly ['disabled' | 'purged' | 'enabled', number];
type Act =
  | { readonly source: 'admin'; readonly act: OperatorAct }
  | { readonly source: 'scim'; readonly act: ScimAct }
  | { readonly source: 'ssf'; readonly act: SignalAct };

const operatorAct = fc.constantFrom<OperatorAct>('block', 'lift');
const scimAct = fc.constantFrom<ScimAct>('off', 'off', 'on', 'remove');
const signalAct = fc.tuple(
  fc.constantFrom('disabled', 'purged', 'enabled', 'enabled'),
  fc.nat(3),
) satisfies fc.Arbitrary<SignalAct>;
const anyAct = fc.oneof<fc.Arbitrary<Act>[]>(
  operatorAct.map((act) => ({ source: 'admin', act })),
  scimAct.map((act) => ({ source: 'scim', act })),
  signalAct.map((act) => ({ source: 'ssf', act })),
);

const SIGNALS = {
  disabled: { reasons: ['ssf_account_disabled'], lift: false, block: 'disabled', end: 'ssf_account_disabled' },
  purged: { reasons: ['ssf_account_purged'], lift: false, block: 'deleted', end: 'ssf_account_purged' },
  enabled: { reasons: ['ssf_account_enabled'], lift: true, block: undefined, end: undefined },
} as const;

/** What each source does to one person: through the ports, and what the specification says it leaves. */
function aPerson(sponsorKey: SponsorKey) {
  const blocks = new Map<BlockSource, SponsorBlock>();
  let user: ProvisionedUser | undefined;
  let statedAt = NOON;

  const place = (source: BlockSource, kind: BlockKind, at: Instant) =>
    blocks.set(source, { sponsorKey, source, kind, blockedAt: blocks.get(source)?.blockedAt ?? at });

  /** Answers the records that the act must have, each as event, decision and reason. */
  async function operator(storage: Storage, act: OperatorAct, at: Instant): Promise<readonly string[]> {
    const own = blocks.get('admin');
    if (act === 'block') {
      await storage.sponsors.block({ sponsorKey, source: 'admin', kind: 'disabled', blockedAt: at }, 'sponsor_blocked');
      place('admin', 'disabled', at);
      return own === undefined ? ['sponsor.blocked allow sponsor_blocked'] : [];
    }
    const about = { at, sponsor: sponsorKey };
    const entry = anEntry('sponsor.unblocked', { ...about, reason: 'operator_unblocked' });
    const refusal = { ...entry, decision: 'deny', reason: 'sponsor_block_not_owned' } as const;
    const outcome = await storage.sponsors.lift(sponsorKey, 'admin', entry, refusal);
    blocks.delete('admin');
    if (own !== undefined) expect(outcome).to.equal('lifted');
    else expect(outcome).to.be.oneOf(['not_owned', 'not_blocked']);
    if (outcome === 'lifted') return ['sponsor.unblocked allow operator_unblocked'];
    return outcome === 'not_owned' ? ['sponsor.unblocked deny sponsor_block_not_owned'] : [];
  }

  async function scim(storage: Storage, act: ScimAct, at: Instant): Promise<readonly string[]> {
    const { provisionedUsers } = storage;
    if (act === 'remove') {
      if (user === undefined) return [];
      expect(await provisionedUsers.remove(user, { statements: statementsOf(user, undefined), at })).to.equal(
        'removed',
      );
      user = undefined;
      place('scim', 'deleted', at);
      return ['sponsor.signal allow scim_deleted'];
    }
    const before = user;
    const active = act === 'on';
    user = before === undefined ? aUser(active) : { ...before, active, revision: before.revision + 1 };
    const news = { statements: statementsOf(before, user), at };
    if (before === undefined) expect(await provisionedUsers.create(user, news, 1_000_000)).to.equal('created');
    else expect(await provisionedUsers.replace(before, user, news)).to.equal('replaced');
    if (active) return blocks.delete('scim') ? ['sponsor.signal allow scim_reactivated'] : [];
    place('scim', 'disabled', at);
    return before?.active === false ? [] : ['sponsor.signal allow scim_deactivated'];
  }

  function aUser(active: boolean): ProvisionedUser {
    const names = { userName: randomUUID(), externalId: sponsorKey, sponsorKey };
    return { userId: makeUserId(ulid()), ...names, active, revision: 1, createdAt: NOON, modifiedAt: NOON };
  }

  async function signal(storage: Storage, [what, seconds]: SignalAct, at: Instant): Promise<readonly string[]> {
    const stated = plusSeconds(NOON, seconds);
    const action = { sponsorKey, statedAt: stated, ...SIGNALS[what] };
    const occurrence = { issuer: 'https://transmitter.example', jti: randomUUID(), forgetAt: plusSeconds(at, 60), at };
    const { kind } = await storage.signals.applySecurityEvent({ ...occurrence, action });
    const own = blocks.get('ssf');
    const outdated = what === 'enabled' && own !== undefined && stated < statedAt;
    expect(kind).to.equal(outdated ? 'outdated' : 'accepted');
    if (what === 'enabled') {
      if (!outdated) blocks.delete('ssf');
    } else {
      place('ssf', own?.kind === 'deleted' ? 'deleted' : SIGNALS[what].block, at);
      statedAt = own === undefined || stated > statedAt ? stated : statedAt;
    }
    return [`sponsor.signal allow ${outdated ? 'ssf_account_enabled_outdated' : SIGNALS[what].reasons[0]}`];
  }

  return {
    act(storage: Storage, { source, act }: Act, at: Instant): Promise<readonly string[]> {
      switch (source) {
        case 'admin':
          return operator(storage, act, at);
        case 'scim':
          return scim(storage, act, at);
        case 'ssf':
          return signal(storage, act, at);
      }
    },
    /** Oldest first. */
    blocks: () => [...blocks.values()].sort((one, other) => one.blockedAt - other.blockedAt),
  };
}

const inBrief = ({ event, decision, reason }: LedgerRecord) => `${event} ${decision} ${reason}`;

onEveryDatabase('blocks of several sources', ({ storage }) => {
  it('are placed, restated and lifted each by its own source, in every order, each act on record', async function () {
    this.timeout(60_000);
    let micros = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyAct, { minLength: 4, maxLength: 12 }), async (acts) => {
        const sponsorKey = newSponsorKey();
        const person = aPerson(sponsorKey);
        for (const act of acts) {
          // Never two blocks at one instant: their order would be that of their sources.
          const at = instantFromMicros(NOON + ++micros);
          let expected: readonly string[] = [];
          const records = await recordedBy(storage(), async () => {
            expected = await person.act(storage(), act, at);
          });
          expect(records.map(inBrief)).to.deep.equal(expected);
          expect(records.every(({ sponsor }) => sponsor === sponsorKey)).to.equal(true);
          expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal(person.blocks());
        }
      }),
      { numRuns: RUNS },
    );
  });
});

onEveryDatabase(
  'blocks of several sources that meet',
  ({ storage, database, kind }) => {
    it('wait for each other: an operator’s lift finds the block that another source was placing, and is refused', async () => {
      const connection = await database().outside?.();
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      const placing: readonly Act[] = [
        { source: 'ssf', act: ['purged', 0] },
        { source: 'scim', act: 'off' },
      ];
      for (const act of placing) {
        const sponsorKey = newSponsorKey();
        const person = aPerson(sponsorKey);
        const hold = await holdAppends(kind, connection);
        const placed = person.act(storage(), act, NOON);
        await hold.waiting(1);
        const lifted = person.act(storage(), { source: 'admin', act: 'lift' }, NOON);
        await hold.waiting(2);
        await hold.release();
        await placed;
        expect(await lifted).to.deep.equal(['sponsor.unblocked deny sponsor_block_not_owned']);
        expect(await storage().sponsors.findBlocks(sponsorKey)).to.deep.equal(person.blocks());
      }
      await connection.close();
    });

    it('are what each source said last, from three processes at once; no task outlives them, each act is on record', async function () {
      this.timeout(120_000);
      const processes = await Promise.all([database().open(), database().open(), database().open()]);
      const [first, second, third] = processes;
      if (first === undefined || second === undefined || third === undefined) throw new Error('not three processes');
      const agent = await registeredAgent(first);
      const sequences = fc.tuple(
        fc.array(operatorAct, { minLength: 3, maxLength: 8 }),
        fc.array(scimAct, { minLength: 3, maxLength: 8 }),
        fc.array(signalAct, { minLength: 3, maxLength: 8 }),
      );
      let micros = 0;
      const now = () => instantFromMicros(NOON + ++micros);
      await fc.assert(
        fc.asyncProperty(sequences, async ([operatorActs, scimActs, signalActs]) => {
          const sponsorKey = newSponsorKey();
          const person = aPerson(sponsorKey);
          const opened = [await openedTask(first, { sponsorKey }, agent)];
          const inOrder = async (storage: Storage, acts: readonly Act[]) => {
            const said: string[] = [];
            for (const act of acts) said.push(...(await person.act(storage, act, now())));
            return said;
          };
          const exchanges = async () => {
            for (let nth = 0; nth < 4; nth++) {
              const opening = anOpening(agent, { sponsorKey });
              const { kind } = await second.tasks.open(opening);
              if (kind === 'opened') opened.push(opening);
            }
            return [];
          };
          const before = new Set((await about(first, sponsorKey)).map(({ seq }) => seq));
          const expected = await Promise.all([
            inOrder(
              first,
              operatorActs.map((act) => ({ source: 'admin', act })),
            ),
            inOrder(
              second,
              scimActs.map((act) => ({ source: 'scim', act })),
            ),
            inOrder(
              third,
              signalActs.map((act) => ({ source: 'ssf', act })),
            ),
            exchanges(),
          ]);
          const left = person.blocks();
          for (const process of processes) {
            expect(await process.sponsors.findBlocks(sponsorKey)).to.have.deep.members(left);
          }
          const records = (await about(third, sponsorKey)).filter(({ seq }) => !before.has(seq));
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

/** The records that name the person by the sponsor key: those of the sources, not those of the tasks. */
async function about(storage: Storage, sponsor: SponsorKey): Promise<readonly LedgerRecord[]> {
  return (await storage.ledger.page({ sponsor, limit: 1_000, now: NOON })).records;
}
