import { expect } from 'chai';
import { generateCommand } from '../../../composition/commands/keys/generate.ts';
import { retireCommand } from '../../../composition/commands/keys/retire.ts';
import { rotateCommand } from '../../../composition/commands/keys/rotate.ts';
import { showCommand } from '../../../composition/commands/keys/show.ts';
import { keysCommand } from '../../../composition/commands/keys.ts';
import { groupWith, refusalOf, runCommandLine } from '../../support/cli-run.ts';

async function run(...argv: readonly string[]) {
  const asked: unknown[] = [];
  const keep = (name: string) => async (request: object) => {
    asked.push({ name, ...request });
    return 3;
  };
  const group = groupWith('keys', keysCommand(), {
    generate: generateCommand(keep('generate')),
    rotate: rotateCommand(keep('rotate')),
    show: showCommand(keep('show')),
    retire: retireCommand(keep('retire')),
  });
  return { ...(await runCommandLine([group], argv)), asked };
}

describe('mandate keys', () => {
  it('writes a new key to a file, or to standard output for -', async () => {
    const request = { name: 'generate', out: '/keys/a.pem', kid: 'a', json: true };
    const { asked, code } = await run('keys', 'generate', '--out', '/keys/a.pem', '--kid', 'a', '--json');
    expect([asked, code]).to.deep.equal([[request], 3]);
    expect((await run('keys', 'generate', '--out', '-')).asked).to.deep.equal([
      { name: 'generate', out: '-', kid: undefined, json: false },
    ]);
  });

  it('rotates to the next key with any number of replicas', async () => {
    const request = { name: 'rotate', next: 'b.pem', kid: undefined, json: false };
    expect((await run('keys', 'rotate', '--next', 'b.pem')).asked).to.deep.equal([{ ...request, servers: [] }]);
    const servers = ['--server', 'http://10.0.0.4:5100/', '--server', 'https://b.example/mandate'];
    expect((await run('keys', 'rotate', ...servers, '--next', 'b.pem')).asked).to.deep.equal([
      { ...request, servers: ['http://10.0.0.4:5100', 'https://b.example/mandate'] },
    ]);
  });

  it('shows the keys in words, as a key set, or in PEM, there also one alone', async () => {
    for (const [argv, asked] of [
      [[], { as: 'words', kid: undefined }],
      [['--json'], { as: 'json', kid: undefined }],
      [['--pem'], { as: 'pem', kid: undefined }],
      [['--pem', '--kid=-a'], { as: 'pem', kid: '-a' }],
    ] as const) {
      expect((await run('keys', 'show', ...argv)).asked).to.deep.equal([{ name: 'show', ...asked }]);
    }
  });

  it('retires the key that --kid names, once', async () => {
    expect((await run('keys', 'retire', '--kid', 'a')).asked).to.deep.equal([
      { name: 'retire', kid: 'a', json: false },
    ]);
    // One thumbprint in 64 begins with a hyphen. The examples and the plan of a rotation show this form.
    expect((await run('keys', 'retire', '--kid=-a')).asked).to.deep.equal([{ name: 'retire', kid: '-a', json: false }]);
    expect((await run('keys', 'retire')).code).to.equal(2);
    expect((await run('keys', 'retire', '--kid', 'a', '--kid', 'b')).code).to.equal(2);
  });

  it('describes each action with an example and its exit codes', async () => {
    for (const name of ['generate', 'rotate', 'show', 'retire']) {
      const { code, out } = await run('keys', name, '--help');
      expect(code).to.equal(0);
      expect(out)
        .to.match(new RegExp(`Examples:\\n +mandate keys ${name}`))
        .and.match(/Exit codes:\n {2}0 /);
    }
    expect((await run('keys', '--help')).out).to.match(/keys generate .*\n.*keys rotate .*\n.*keys show /s);
  });

  for (const [title, argv] of [
    ['a missing action', ['keys']],
    ['an unknown action', ['keys', 'delete']],
    ['a missing file', ['keys', 'generate']],
    ['two files', ['keys', 'generate', '--out', 'a', '--out', 'b']],
    ['a file without a name', ['keys', 'generate', '--out', '']],
    ['a missing next key', ['keys', 'rotate']],
    ['a replica that is not a URL', ['keys', 'rotate', '--next', 'b', '--server', 'passwd']],
    ['a replica with a password', ['keys', 'rotate', '--next', 'b', '--server', 'https://a:passwd@b.example']],
    ['a replica of another scheme', ['keys', 'rotate', '--next', 'b', '--server', 'file:///etc/passwd']],
    ['a word as a boolean', ['keys', 'show', '--json=maybe']],
    ['a key set in PEM', ['keys', 'show', '--json', '--pem']],
    ['one key of the key set', ['keys', 'show', '--kid', 'a']],
  ] as const) {
    it(`refuses ${title} with exit code 2 and a sentence that does not repeat the value`, async () => {
      const { code, out, err, asked } = await run(...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).to.match(refusalOf('keys( \\w+)?'));
      expect(err).not.to.include('passwd');
    });
  }
});
