import { expect } from 'chai';
import { compareSchema, describeSchema } from '../../../../adapters/storage/rows/migrations.ts';

const migrations = [{ name: '0001-schema' }, { name: '0002-more' }];

describe('The state of a schema', () => {
  for (const [applied, status, readiness] of [
    [[], 'absent', 'Unhealthy'],
    [['0001-schema'], 'behind', 'Unhealthy'],
    [['0001-schema', '0002-more'], 'current', 'Healthy'],
    [['0001-schema', '0002-more', '9999-from-the-future'], 'ahead', 'Degraded'],
    [['9999-from-the-future'], 'ahead', 'Degraded'],
  ] as const) {
    it(`is ${status} after the migrations [${applied.join(', ')}], and the check says ${readiness}`, () => {
      expect(compareSchema(applied, migrations)).to.equal(status);
      expect(describeSchema(status).status).to.equal(readiness);
    });
  }

  it('names the command that migrates it', () => {
    expect(describeSchema('behind').detail).to.equal('The schema is not current; run `mandate migrate`.');
  });
});
