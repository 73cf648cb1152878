/** The paths to the values that a person reads before an approval. */

import { expect } from 'chai';
import { readArgumentPath, valueAt } from '../../../../../adapters/sdk/tool-server/guard/argument-path.ts';

const CALL = { to: { names: ['Bob', { 'first name': 'Eve' }], '0': 'zero' }, length: 5 };

const values: readonly (readonly [path: string, value: unknown])[] = [
  ['$', CALL],
  ['$.length', 5],
  ['$.to.names[0]', 'Bob'],
  [`$['to']["names"][1]['first name']`, 'Eve'],
  ['$.to["0"]', 'zero'],
  ['$.to[0]', undefined],
  ['$.to.names["0"]', undefined],
  ['$.to.names.length', undefined],
  ['$.to.names[2]', undefined],
  ['$.to.toString', undefined],
  ['$.from.names', undefined],
  ['$.length.to', undefined],
];

const noPaths = [
  ...['', 'to', '.to', '$to', '$.', '$..to', '$.to.', '$.*', '$[*]', '$.1a', '$.a b', '$.a-b', '$ .to', '$.to '],
  ...['$[01]', '$[-1]', '$[1.0]', '$[0', '$[]', "$['']", '$["a\\"b"]', "$['a\\u0062']", `$['a"]`, '$[1,2]', '$[0:1]'],
];

describe('The path of a line', () => {
  it('names one value of the call, by names in objects and by numbers in lists', () => {
    const found = values.map(([path]) => [path, valueAt(CALL, readArgumentPath(path) ?? expect.fail(path))]);
    expect(found).to.deep.equal(values);
  });

  it('is refused if it names several values, or could be read in two ways', () => {
    expect(noPaths.filter((text) => readArgumentPath(text) !== undefined)).to.deep.equal([]);
  });
});
