import { expect } from 'chai';
import { ulid } from 'ulid';
import {
  firstTaskIdAt,
  makeTaskId,
  namesAgent,
  parseAgentId,
  parseTaskId,
  parseTokenId,
  parseUserId,
} from '../../domain/identifiers.ts';
import { instantFromMillis } from '../../domain/instant.ts';

describe('the readers of identifiers', () => {
  it('accept an agent_id of 1 to 128 lowercase letters, digits, -, _ and . that starts with a letter or digit', () => {
    for (const id of ['a', '7', 'jira-triage', 'a.b_c-d', 'x'.repeat(128)]) expect(parseAgentId(id), id).to.equal(id);
    const wrong = ['', '-a', '.a', '_a', 'A', 'a b', 'a/b', 'a%2Fb', '..', '__proto__', 'x'.repeat(129), 'a\n', 'ä'];
    for (const id of wrong) expect(parseAgentId(id), id).to.equal(undefined);
  });

  it('recognise a subject that names an agent, in any case', () => {
    for (const sub of ['agent:a', 'AGENT:a', 'Agent:', 'aGeNt:x']) expect(namesAgent(sub), sub).to.equal(true);
    for (const sub of ['agent', 'agents:a', 'ada', ' agent:a', 'xagent:a'])
      expect(namesAgent(sub), sub).to.equal(false);
  });

  it('read task, token and user ids only with their prefix and a ULID', () => {
    const ulid = '01M31S7W68TMK7WDX8YKPSYTES';
    expect(parseTaskId(`task_${ulid}`)).to.equal(`task_${ulid}`);
    expect(parseTokenId(`tok_${ulid}`)).to.equal(`tok_${ulid}`);
    expect(parseUserId(`user_${ulid}`)).to.equal(`user_${ulid}`);
    for (const other of [ulid, `task_${ulid}`, `user_${ulid.toLowerCase()}`, `user_${ulid}0`]) {
      expect(parseUserId(other)).to.equal(undefined);
    }
    for (const id of [
      ulid,
      `tok_${ulid}`,
      `task_${ulid}x`,
      `task_${ulid.toLowerCase()}`,
      `task_${ulid.slice(1)}`,
      'task_',
    ]) {
      expect(parseTaskId(id), id).to.equal(undefined);
    }
  });
});

describe('the first task id of a time', () => {
  it('sorts after the ids of earlier times, and before the ids of that time', () => {
    const time = 1_795_000_000_000;
    const first = firstTaskIdAt(instantFromMillis(time));
    expect(parseTaskId(first)).to.equal(first);
    const ids = [time - 1, time, time + 1].map((millis) => makeTaskId(ulid(millis)));
    expect(ids.map((id) => id >= first)).to.deep.equal([false, true, true]);
    expect(firstTaskIdAt(instantFromMillis(-5))).to.equal(`task_${'0'.repeat(26)}`);
  });
});
