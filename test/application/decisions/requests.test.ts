/** What a person is asked at /oauth2/authorize: keeping the request, answering it, and redeeming its code. */

import { expect } from 'chai';
import { answerRequest, type RequestAnswer } from '../../../application/decisions/answer-request.ts';
import { keepRequest, type RequestKeeping } from '../../../application/decisions/keep-request.ts';
import { openTask, type TaskOpening } from '../../../application/decisions/open-task.ts';
import { type Authorization, MOST_OPEN_REQUESTS, makeCode } from '../../../domain/authorization/authorization.ts';
import { makeRequestId } from '../../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../../domain/instant.ts';
import { aCode, anAuthorization } from '../../contract/authorization-fixtures.ts';
import { anOpening, ulid } from '../../contract/storage-fixtures.ts';
import { aStatedBlock, lockNames } from '../../support/decision-fixtures.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const agent = anAgent();
const { agentId, revision } = agent;
const open = anAuthorization({ agentId });
const { requestId, person, client, audience } = open;
const { sponsorKey, subject, sessionId } = person;
const AT = plusSeconds(NOON, 9);
const code = aCode();
const allowed: Authorization = { ...open, state: 'allowed', answeredAt: AT, code };
const blocks = [aStatedBlock({ kind: 'deleted' })];
const sharedLocks = [
  `shared sponsor ${sponsorKey}`,
  `shared subject ${subject}`,
  `shared session ${sessionId}`,
  `shared agent ${agentId}`,
];
const detail = `request=${requestId}&client=${client}`;

describe('Keeping a request', () => {
  const keeping: RequestKeeping = {
    authorization: open,
    ends: { everything: 3, agent: 0 },
    agentRevision: revision,
    refuseLoggedOut: { earliest: NOON },
  };
  const clear = {
    revision,
    blocks: [],
    logouts: [],
    ends: { everything: { count: 3, reason: 'operator_kill_switch' as const }, agent: undefined },
    open: [],
  };
  const insert = { effect: 'insert_authorization', ...open, forgetAt: plusSeconds(open.expiresAt, 3600) };

  it('stores it, and waits for each end of its person, session and agent, and of everything', () => {
    expect(keepRequest.judge(keeping, clear)).to.deep.equal({ verdict: { kind: 'kept' }, effects: [insert] });
    const [, ...others] = sharedLocks;
    expect(lockNames(keepRequest.locks(keeping))).to.deep.equal([
      `exclusive sponsor ${sponsorKey}`,
      ...others,
      'shared authorizing ',
    ]);
  });

  for (const [title, facts, verdict] of [
    ['a blocked person', { blocks }, { kind: 'sponsor_blocked', block: 'deleted' }],
    ['a changed agent', { revision: revision + 1 }, { kind: 'agent_changed' }],
    ['a logged-out session', { logouts: [undefined, { statedAt: NOON, forgetAt: AT }] }, { kind: 'logged_out' }],
    [
      'a request that began before an end of everything',
      { ends: { ...clear.ends, everything: { count: 4, reason: 'operator_kill_switch' } } },
      { kind: 'ended', reason: 'operator_kill_switch' },
    ],
    [
      'a request that began before the first stored end of its agent',
      { ends: { ...clear.ends, agent: { count: 1, reason: 'agent_disabled' } } },
      { kind: 'ended', reason: 'agent_disabled' },
    ],
  ] as const) {
    it(`writes nothing for ${title}`, () => {
      expect(keepRequest.judge(keeping, { ...clear, ...facts } as typeof clear)).to.deep.equal({
        verdict,
        effects: [],
      });
    });
  }

  it('keeps one whose end is no longer stored: it lasts longer than any request', () => {
    const facts = { ...clear, ends: { everything: undefined, agent: undefined } };
    expect(keepRequest.judge(keeping, facts).verdict).to.deep.equal({ kind: 'kept' });
  });

  it('ends the oldest requests of the person that are too many', () => {
    const ids = Array.from({ length: MOST_OPEN_REQUESTS + 1 }, () => makeRequestId(ulid()));
    const effectsWith = (count: number) => keepRequest.judge(keeping, { ...clear, open: ids.slice(0, count) }).effects;
    expect(effectsWith(MOST_OPEN_REQUESTS - 1)).to.deep.equal([insert]);
    const selection = { kind: 'requests', requestIds: ids.slice(0, 2) };
    expect(effectsWith(MOST_OPEN_REQUESTS + 1)).to.deep.equal([
      { effect: 'void_authorizations', selection, reason: 'request_expired' },
      insert,
    ]);
  });
});

describe('Answering a request', () => {
  const answering = (kind: 'allow' | 'refuse', changes: Partial<RequestAnswer> = {}): RequestAnswer => ({
    request: open,
    browserHash: open.browserHash,
    client: open.client,
    answer: kind === 'allow' ? { kind, code } : { kind },
    agentRevision: revision,
    at: AT,
    latest: AT,
    ...changes,
  });
  const clear = { authorization: open, revision, blocks: [] };
  const entry = { at: AT, agentId, sponsor: subject, audience };
  const denied = (reason: string, of = detail) => ({
    effect: 'append',
    entries: [
      { ...entry, event: 'authorization.denied', scope: 'jira:read jira:write', decision: 'deny', reason, detail: of },
    ],
  });

  it('stores the code of a yes, and records the chosen scope under the task that the code will open', () => {
    const { effects, verdict } = answerRequest.judge(answering('allow'), clear);
    expect(verdict).to.deep.equal({ kind: 'allowed' });
    expect(effects).to.deep.equal([
      {
        effect: 'answer_authorization',
        requestId,
        state: 'allowed',
        client: open.client,
        at: AT,
        code,
        purpose: open.purpose,
        forgetAt: plusSeconds(code.expiresAt, 3600),
      },
      {
        effect: 'append',
        entries: [
          {
            ...entry,
            event: 'authorization.allowed',
            taskId: code.taskId,
            scope: 'jira:write',
            decision: 'allow',
            detail,
          },
        ],
      },
    ]);
  });

  it('records a no, and nothing beside it', () => {
    const { effects, verdict } = answerRequest.judge(answering('refuse'), { ...clear, blocks, revision: undefined });
    expect(verdict).to.deep.equal({ kind: 'refused' });
    expect(effects.map(({ effect }) => effect)).to.deep.equal(['answer_authorization', 'append']);
    expect(effects[1]).to.deep.nested.include({
      'entries[0].event': 'authorization.refused',
      'entries[0].decision': 'deny',
      'entries[0].reason': 'consent_refused',
      'entries[0].detail': detail,
    });
    expect(answerRequest.denial?.(answering('refuse'), verdict)).to.deep.equal({
      event: 'authorization.refused',
      reason: 'consent_refused',
    });
  });

  it('takes what the person wrote only if the client stated no purpose', () => {
    const purposeOf = (stated: string | undefined) => {
      const input = answering('allow', { answer: { kind: 'allow', code, purpose: 'written' } });
      const { effects } = answerRequest.judge(input, { ...clear, authorization: { ...open, purpose: stated } });
      return effects[0]?.effect === 'answer_authorization' && effects[0].purpose;
    };
    expect([purposeOf('stated'), purposeOf(undefined)]).to.deep.equal(['stated', 'written']);
  });

  const gone: Authorization = { ...open, state: 'void', voidReason: 'sponsor_stopped' };
  for (const [title, facts, changes, verdict, effects] of [
    ['no such request', { authorization: undefined }, {}, { kind: 'not_found' }, []],
    ["another browser's", {}, { browserHash: 'another' }, { kind: 'not_found' }, []],
    ['one that was allowed', { authorization: allowed }, {}, { kind: 'answered', as: 'allowed' }, []],
    [
      'one that ended, and records why',
      { authorization: gone },
      {},
      { kind: 'ended', reason: 'sponsor_stopped' },
      [denied('request_expired', `request=${requestId}&ended=sponsor_stopped`)],
    ],
    ['one whose time is up', {}, { latest: open.expiresAt }, { kind: 'expired' }, [denied('request_expired')]],
    [
      'one of a blocked person',
      { blocks },
      {},
      { kind: 'sponsor_blocked', block: 'deleted' },
      [denied('sponsor_not_found')],
    ],
    ['one of a changed agent', { revision: revision + 1 }, {}, { kind: 'agent_changed' }, []],
  ] as const) {
    it(`allows nothing of ${title}`, () => {
      const judgement = answerRequest.judge(answering('allow', changes), { ...clear, ...facts });
      expect(judgement).to.deep.equal({ verdict, effects });
    });
  }

  it('never stores a code with more scope than was offered', () => {
    const more = answering('allow', { answer: { kind: 'allow', code: { ...code, scope: ['mail'] } } });
    expect(() => answerRequest.judge(more, clear)).to.throw('more scope than was offered');
  });

  it('waits for each end of its person, session and agent, and for another answer', () => {
    const locks = [...sharedLocks, `exclusive authorization ${requestId}`];
    expect(lockNames(answerRequest.locks(answering('allow')))).to.deep.equal(locks);
  });
});

describe('Redeeming a code', () => {
  const opening: TaskOpening = {
    ...anOpening(agent, {
      taskId: code.taskId,
      sponsorKey,
      sponsor: subject,
      sessionId,
      audience,
      scope: code.scope,
      expiresAt: code.taskEndsAt,
    }),
    assertion: undefined,
    code: { requestId, hash: code.hash, rotation: 'first' },
  };
  const clear = {
    revision,
    spent: [],
    blocks: [],
    logouts: [],
    parent: undefined,
    authorization: allowed,
    slot: undefined,
    taken: undefined,
  };
  const judged = (facts: Partial<typeof clear> | object, changes: Partial<TaskOpening> = {}) =>
    openTask.judge({ ...opening, ...changes }, { ...clear, ...facts } as typeof clear);

  it('spends it, begins the rotation of the grant, and records the request beside the token', () => {
    const { grantHash, task, entry } = opening;
    const { jti: _, ...issued } = entry;
    expect(judged({})).to.deep.equal({
      verdict: { kind: 'opened' },
      effects: [
        { effect: 'insert_task', task, grantHash },
        { effect: 'spend_authorization', requestId },
        { effect: 'rotate_grant', grantHash, current: 'first', previous: undefined },
        {
          effect: 'append',
          entries: [entry, { ...issued, event: 'task.authorized', detail: `request=${requestId}` }],
        },
      ],
    });
    expect(lockNames(openTask.locks(opening)).at(-1)).to.equal(`exclusive authorization ${requestId}`);
  });

  for (const [title, authorization, verdict] of [
    ['no stored request', undefined, { kind: 'code_unknown' }],
    ['another code', { ...allowed, code: { ...code, hash: makeCode('another') } }, { kind: 'code_unknown' }],
    ['a spent code', { ...allowed, state: 'spent' }, { kind: 'code_spent', taskId: code.taskId }],
    [
      'a code that an end made void',
      { ...allowed, state: 'void', voidReason: 'sponsor_blocked' },
      { kind: 'code_void', reason: 'sponsor_blocked' },
    ],
    [
      'a code whose time is up',
      { ...allowed, code: { ...code, expiresAt: opening.task.createdAt } },
      { kind: 'code_expired' },
    ],
  ] as const) {
    it(`writes nothing for ${title}`, () => {
      expect(judged({ authorization })).to.deep.equal({ verdict, effects: [] });
    });
  }

  for (const [title, changes] of [
    ['another id', { taskId: aCode().taskId }],
    ['another agent', { agentId: anAuthorization().agentId }],
    ['another person', { sponsorKey: anAuthorization().person.sponsorKey }],
    ['another session', { sessionId: undefined }],
    ['another audience', { audience: 'https://other.example' }],
    ['more scope than the person left', { scope: ['jira:write', 'jira:read'] }],
    ['a later end than the person chose', { expiresAt: instantFromMicros(code.taskEndsAt + 1) }],
  ] as const) {
    it(`never opens a task with ${title}`, () => {
      const task = { ...opening.task, ...changes };
      expect(() => judged({}, { task })).to.throw('another than its person allowed');
    });
  }
});
