import { expect } from 'chai';
import { acceptClockCommand } from '../../../composition/commands/witness/accept-clock.ts';
import { initCommand } from '../../../composition/commands/witness/init.ts';
import { serveCommand } from '../../../composition/commands/witness/serve.ts';
import { witnessCommand } from '../../../composition/commands/witness.ts';
import { groupWith, refusalOf, runCommandLine } from '../../support/cli-run.ts';

async function run(...argv: readonly string[]) {
  const asked: unknown[] = [];
  const keep = (name: string) => async (request: object) => {
    asked.push({ name, ...request });
    return 3;
  };
  const group = groupWith('witness', witnessCommand(), {
    init: initCommand(keep('init')),
    serve: serveCommand(keep('serve')),
    'accept-clock': acceptClockCommand(keep('accept-clock')),
  });
  return { ...(await runCommandLine([group], ['witness', ...argv])), asked };
}

const files = { key: 'w.pem', state: 'w.db' };
const FILES = ['--key', 'w.pem', '--state', 'w.db'];

describe('mandate witness', () => {
  it('passes on the name and the files of a new witness', async () => {
    const { asked, code } = await run('init', '--name', 'auditor.test/w1', ...FILES);
    expect([asked, code]).to.deep.equal([[{ ...files, name: 'auditor.test/w1' }], 3]);
  });

  it('serves any number of logs, by default on loopback', async () => {
    const logs = ['--log', 'a+1+b', '--log', 'c+2+d'];
    expect((await run('serve', ...FILES, ...logs)).asked).to.deep.equal([
      { ...files, name: 'serve', logs: ['a+1+b', 'c+2+d'], host: '127.0.0.1', port: 5180 },
    ]);
    const elsewhere = ['--host', '::', '--port', '80'];
    expect((await run('serve', ...FILES, ...logs, ...elsewhere)).asked).to.deep.include.members([
      { ...files, name: 'serve', logs: ['a+1+b', 'c+2+d'], host: '::', port: 80 },
    ]);
  });

  it('passes on the state file whose times the clock replaces', async () => {
    expect((await run('accept-clock', '--state', 'w.db')).asked).to.deep.equal([
      { name: 'accept-clock', state: 'w.db' },
    ]);
  });

  it('describes each action with an example and its exit codes', async () => {
    for (const name of ['init', 'serve', 'accept-clock']) {
      const { code, out } = await run(name, '--help');
      expect(code).to.equal(0);
      expect(out)
        .to.match(new RegExp(`Examples:\\n +mandate witness ${name}`))
        .and.match(/Exit codes:\n {2}0 /);
    }
  });

  for (const [title, argv] of [
    ['a missing action', []],
    ['a missing name', ['init', ...FILES]],
    ['two names', ['init', '--name', 'a', '--name', 'b', ...FILES]],
    ['a missing state', ['serve', '--key', 'w.pem', '--log', 'a']],
    ['no log', ['serve', ...FILES]],
    ['a port that is a word', ['serve', ...FILES, '--log', 'a', '--port', 'passwd']],
    ['two addresses', ['serve', ...FILES, '--log', 'a', '--host', 'passwd', '--host', 'b']],
  ] as const) {
    it(`refuses ${title} with exit code 2 and a sentence that does not repeat the value`, async () => {
      const { code, out, err, asked } = await run(...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).to.match(refusalOf('witness( \\w+)?'));
      expect(err).not.to.include('passwd');
    });
  }
});
