import { expect } from 'chai';
import { type Authorization, answerDetail } from '../../../domain/authorization/authorization.ts';
import { compareAnswerer, compareAuthorization } from '../../../domain/authorization/authorization-records.ts';
import { formatScope } from '../../../domain/scope.ts';
import { aCode, anAuthorization } from '../../contract/authorization-fixtures.ts';

describe('The stored answer of a person', () => {
  const code = aCode();
  const answeredAt = code.expiresAt;
  const row: Authorization = { ...anAuthorization(), state: 'allowed', answeredAt, code };
  const answer = {
    event: 'authorization.allowed',
    detail: answerDetail(row),
    agentId: row.agentId,
    sponsor: row.person.subject,
    audience: row.audience,
    scope: formatScope(code.scope),
  } as const;
  const started = { event: 'task.authorized' } as const;
  const differs = (how: string, more = {}) => ({ what: 'authorization', id: row.requestId, how, ...more });
  const differenceOf = (...given: Parameters<typeof compareAuthorization>) => {
    const compared = compareAuthorization(...given);
    return compared.kind === 'differs' ? compared.difference : undefined;
  };

  it('is as its record has it, before and after its code was redeemed', () => {
    expect(differenceOf(row, [answer])).to.equal(undefined);
    expect(differenceOf({ ...row, state: 'spent' }, [answer, started])).to.equal(undefined);
    expect(differenceOf({ ...row, state: 'void' }, [answer])).to.equal(undefined);
  });

  for (const [name, record] of Object.entries({
    request: { detail: answerDetail({ ...row, requestId: anAuthorization().requestId }) },
    client: { detail: answerDetail({ ...row, client: row.client === 'key' ? 'public' : 'key' }) },
    agent: { agentId: anAuthorization().agentId },
    person: { sponsor: 'another' },
    audience: { audience: 'https://other.example' },
    scope: { scope: `${answer.scope} more` },
  })) {
    it(`differs if the record has another ${name}`, () => {
      expect(differenceOf(row, [{ ...answer, ...record } as typeof answer])).to.deep.equal(differs('names'));
    });
  }

  it('differs without a record, with two of them, and with a task that came from it before', () => {
    const written = { written: { at: answeredAt } };
    expect(differenceOf(row, [])).to.deep.equal(differs('no_record', written));
    expect(differenceOf(row, [started])).to.deep.equal(differs('no_record', written));
    expect(differenceOf({ ...row, code: undefined }, [answer])).to.deep.include(differs('no_record'));
    expect(differenceOf(row, [answer, answer])).to.deep.equal(differs('records'));
    expect(differenceOf(row, [answer, started])).to.deep.equal(differs('state'));
  });

  it('names the key of its person, if sponsor keys are the sub', () => {
    const { sponsorKey } = row.person;
    for (const [subject, keysAreSubjects, kind] of [
      [sponsorKey, true, 'same'],
      ['another', true, 'differs'],
      ['another', false, 'same'],
    ] as const) {
      const of = { ...row, person: { ...row.person, subject } };
      const compared = compareAnswerer(compareAuthorization(of, [{ ...answer, sponsor: subject }]), keysAreSubjects);
      expect(compared.kind).to.equal(kind);
    }
    const other = compareAuthorization(row, []);
    expect(compareAnswerer(other, false)).to.equal(other);
  });
});
