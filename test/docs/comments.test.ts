/** Checks that comments name only files that exist: a file of the same folder, or a path from that folder or the root. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { sourceFiles } from '../support/source-files.ts';

const FOLDERS = ['domain', 'application', 'adapters', 'composition', 'scripts', 'test'];
const COMMENT_LINE = /^\s*(?:\/\*\*|\*|\/\/)/;
const FILE = /(?<![\w*/.-])(?:\.{1,2}\/)*(?:[\w-]+\/)*[\w.-]+\.ts\b/g;

describe('The comments', () => {
  it('name only files that exist', () => {
    const named = sourceFiles(FOLDERS).flatMap((source) =>
      readFileSync(source, 'utf8')
        .split('\n')
        .filter((line) => COMMENT_LINE.test(line))
        .flatMap((line) => line.match(FILE) ?? [])
        .map((file) => ({ source, file })),
    );
    expect(named.length).to.be.greaterThan(300);
    const unknown = named.filter(({ source, file }) => !existsSync(join(dirname(source), file)) && !existsSync(file));
    expect(unknown).to.deep.equal([]);
  });
});
