import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { command, type NamedCommand, nameOf, type Run } from '../../../adapters/cli/command.ts';
import { agentCommand } from '../../../composition/commands/agent.ts';
import { keysCommand } from '../../../composition/commands/keys.ts';
import { migrateCommand } from '../../../composition/commands/migrate.ts';
import { COMMANDS } from '../../../composition/commands/run-line.ts';
import { serveCommand } from '../../../composition/commands/serve.ts';
import { commandNamed, runCommandLine } from '../../support/cli-run.ts';
import { byLength } from '../../support/length.ts';
import { anchorsOf } from '../../support/pages/page.ts';

/** Returns the outputs, and for each command that ran its name and settings. */
async function run(argv: readonly string[], behaviour: Run = async () => 0, more: readonly NamedCommand[] = []) {
  const ran: string[] = [];
  const as =
    (name: string): Run =>
    async (settings) => {
      ran.push([name, ...settings.map(({ key, value }) => `${key}=${value}`)].join(' '));
      return behaviour(settings);
    };
  const commands = [
    commandNamed('serve', serveCommand(as('serve'))),
    commandNamed('migrate', migrateCommand(as('migrate'))),
    ...more,
  ];
  return { ...(await runCommandLine(commands, argv)), ran };
}

describe('The command line', () => {
  const runs: readonly (readonly [readonly string[], string])[] = [
    [[], 'serve'],
    [['serve'], 'serve'],
    [['--Service:Issuer=https://a.example'], 'serve Service:Issuer=https://a.example'],
    [['migrate'], 'migrate'],
    [['migrate', '--Service:Database:Path', 'a.db'], 'migrate Service:Database:Path=a.db'],
    [['--Service:Database:Path=a.db', 'migrate', '--Service:X=1'], 'migrate Service:Database:Path=a.db Service:X=1'],
  ];
  for (const [argv, expected] of runs) {
    it(`runs "${expected}" for "mandate ${argv.join(' ')}", and no other command`, async () => {
      expect(await run(argv)).to.deep.equal({ code: 0, out: '', err: '', ran: [expected] });
    });
  }

  it('exits with the code of the command', async () => {
    expect(await run(['serve'], async () => 1)).to.include({ code: 1 });
    expect(await run(['migrate'], async () => 3)).to.include({ code: 3 });
  });

  it('waits for the command', async () => {
    let stop = (_code: number) => {};
    const stopped = new Promise<number>((resolve) => {
      stop = resolve;
    });
    const running = run(['serve'], () => stopped);
    let ended = false;
    void running.then(() => {
      ended = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).to.equal(false);
    stop(0);
    expect(await running).to.include({ code: 0 });
  });

  it('exits with 1 and the class of a thrown error, without the message', async () => {
    const outcome = await run(['serve'], async () => {
      throw new RangeError('postgresql://user:hunter2@db');
    });
    expect(outcome).to.include({ code: 1, err: 'mandate: the command failed (RangeError).\n', out: '' });
  });

  // Under a real limit of open files it depends on the release of Node which file is one too many.
  for (const [code, sentence] of [
    ['EMFILE', 'This process may not open more files: raise its limit (ulimit -n).'],
    ['ENFILE', 'This machine has no more files to open: raise the limit of the system (sysctl fs.file-max).'],
  ]) {
    it(`says what to raise when the system gives no more files (${code})`, async () => {
      const outcome = await run(['serve'], async () => {
        throw Object.assign(new Error('too many open files'), { code });
      });
      expect(outcome).to.include({ code: 1, err: `mandate: ${sentence}\n`, out: '' });
    });
  }

  const KEYS: NamedCommand = {
    usage: 'keys',
    summary: 'Keys',
    page: 'docs/operating.md',
    load: async () => keysCommand(),
  };
  const AGENT: NamedCommand = { ...KEYS, usage: 'agent', load: async () => agentCommand() };
  const refused: readonly (readonly [argv: readonly string[], sentence: string, helpOf?: string])[] = [
    [['srve'], 'Unknown command: srve. Did you mean "mandate serve"?', 'serve'],
    [['sreve'], 'Unknown command: sreve. Did you mean "mandate serve"?', 'serve'],
    [['MIGRATE'], 'Unknown command.'],
    [['nothing-like-it'], 'Unknown command: nothing-like-it.'],
    [['key', 'rotate'], 'Unknown commands: key, rotate. Did you mean "mandate keys"?', 'keys'],
    [['keys', 'rotat'], 'Unknown command: rotat. Did you mean "mandate keys rotate"?', 'keys rotate'],
    [['keys', 'shwo', 'hunter2!'], 'Unknown command: shwo. Did you mean "mandate keys show"?', 'keys show'],
    [
      ['agent', 'aply', 'a.yaml', '--server=x'],
      'Unknown command: aply. Did you mean "mandate agent apply"?',
      'agent apply',
    ],
    [['migrat', 'hunter2!'], 'Unknown command: migrat. Did you mean "mandate migrate"?', 'migrate'],
    [['migrat, hunter2!'], 'Unknown command.'],
    [['Hunter2'], 'Unknown command.'],
    [['keys', 'next', '--help'], 'Unknown command: next.', 'keys'],
    [['keys', 'rotat', '-h'], 'Unknown command: rotat. Did you mean "mandate keys rotate"?', 'keys rotate'],
    [['migrat', '--help'], 'Unknown command: migrat. Did you mean "mandate migrate"?', 'migrate'],
    [['hunter2!', '--help'], 'Unknown command.'],
    [['keys'], 'keys needs the name of a command: generate, rotate, show, retire.', 'keys'],
    [['serve', 'twice'], 'Unknown command: twice.', 'serve'],
    [['serve', 'migrate'], 'Unknown command: migrate.', 'serve'],
    [['migrate', '--force'], 'Unknown argument: --force.', 'migrate'],
    [['migrate', '--hepl'], 'Unknown argument: --hepl. Did you mean --help?', 'migrate'],
    [['migrate', '--force=hunter2', '--no-really'], 'Unknown arguments: --force, --no-really.', 'migrate'],
    [['--port=80'], 'Unknown argument: --port.'],
    [['migrate', '-f'], 'Unknown argument: -f.', 'migrate'],
    [['-v'], 'Unknown argument: -v. Did you mean --version?'],
    [['migrate', '-f', '-Q'], 'Unknown arguments: -f, -Q.', 'migrate'],
    [['migrate', '-unter2'], 'Unknown arguments.', 'migrate'],
    [['migrate', 'postgresql://user:hunter2@db'], 'Unknown command.', 'migrate'],
    [['Hunter2!'], 'Unknown command.'],
    [['serve', 'an-admin-key-of-only-lower-case-1'], 'Unknown command.', 'serve'],
    [['serve', '--an-admin-key-of-only-lower-case-1'], 'Unknown argument.', 'serve'],
    [['--Service__Issuer=hunter2', 'serve'], 'Unknown argument.', 'serve'],
    [[''], 'Unknown command.'],
    [['--', 'migrate'], 'No command was given.'],
    [['--Service:Issuer'], '--Service:Issuer needs a value.'],
    [['--Service:Issuer', '--help'], '--Service:Issuer needs a value.'],
    [['keys', 'rotate', '--next'], '--next needs a value.', 'keys rotate'],
    [
      ['keys', 'rotate', '--nxet', 'a'],
      'Missing required argument: --next. For example: mandate keys rotate --next /run/secrets/signing-key-2.pem',
      'keys rotate',
    ],
    [
      ['agent', 'init'],
      'Missing required argument: <agent-id>. For example: mandate agent init jira-triage --scope jira:read --audience https://jira.example',
      'agent init',
    ],
    [
      ['agent', 'init', 'hunter2', '--scope=hunter2'],
      'Missing required argument: --audience. For example: mandate agent init jira-triage --scope jira:read --audience https://jira.example',
      'agent init',
    ],
    [
      ['agent', 'init', 'hunter2', '--scope', 'a', '--audience', 'b', '--dispaly-name=hunter2'],
      'Unknown argument: --dispaly-name. Did you mean --display-name?',
      'agent init',
    ],
    // Attempts to give the admin key are refused, and are not among the suggestions.
    [
      ['agent', 'apply', 'a.yaml', '--server', 'https://a.example', '--tokn=x'],
      'Unknown argument: --tokn.',
      'agent apply',
    ],
  ];
  for (const [argv, sentence, helpOf] of refused) {
    it(`refuses "mandate ${argv.join(' ')}" with exit code 2 and a sentence, and runs no command`, async () => {
      const outcome = await run(argv, undefined, [KEYS, AGENT]);
      const help = ['mandate', helpOf ?? [], '--help'].flat().join(' ');
      expect(outcome).to.deep.equal({
        code: 2,
        out: '',
        err: `mandate: ${sentence}\n"${help}" shows what there is.\n`,
        ran: [],
      });
      expect(outcome.err).not.to.match(/hunter2/i);
    });
  }

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(await run(['--version'])).to.deep.equal({ code: 0, out: `${version}\n`, err: '', ran: [] });
  });

  it('lists its commands and shows an example of a setting', async () => {
    for (const argv of [['--help'], ['-h'], ['help']]) {
      const { code, out, ran } = await run(argv);
      expect([code, ran]).to.deep.equal([0, []]);
      for (const part of ['mandate serve', 'mandate migrate', '--Service:Issuer=']) expect(out).to.contain(part);
    }
  });

  for (const name of ['serve', 'migrate']) {
    it(`describes ${name} with an example and its exit codes`, async () => {
      const { code, out, err, ran } = await run([name, '--help']);
      expect([code, err, ran]).to.deep.equal([0, '', []]);
      expect(out).to.match(new RegExp(`^mandate ${name}\n\n[A-Z].+\n`));
      expect(out).to.match(new RegExp(`Examples:\n {2}mandate ${name} --Service:`));
      expect(out).to.match(/Exit codes:\n {2}0 {2}\w.+\n {2}1 {2}\w.+\n {2}2 {2}\w/);
    });
  }

  /** The help of every command, and the help of all. */
  async function everyHelp(columns?: number) {
    const helps = new Map<string, string>();
    const read = async (words: readonly string[], next: readonly NamedCommand[]): Promise<void> => {
      const { code, out } = await runCommandLine(COMMANDS, [...words, '--help'], columns);
      expect(code, words.join(' ')).to.equal(0);
      helps.set(words.join(' '), out);
      for (const each of next) await read([...words, nameOf(each)], (await each.load()).commands);
    };
    await read([], COMMANDS);
    return helps;
  }

  it('names a page of the documentation in the help of every command, and the page has that chapter', async () => {
    const helps = await everyHelp();
    expect([...helps.keys()]).to.include.members(['', 'serve', 'keys', 'keys rotate', 'agent init', 'audit-verify']);
    for (const [words, help] of helps) {
      const [, page = '', chapter] = /^Documentation: (docs\/[\w-]+\.md)(?:#([\w-]+))?$/m.exec(help) ?? [];
      expect(existsSync(page), `${words}: ${page}`).to.equal(true);
      if (chapter !== undefined) expect(anchorsOf(page), words).to.include(chapter);
    }
  });

  let whole: ReadonlyMap<string, string>;
  for (const columns of byLength({ short: [20, 250], full: [20, 40, 80, 110, 250] })) {
    it(`fits every help into a terminal of ${columns} columns, and cuts no word`, async () => {
      whole ??= await everyHelp(40);
      const fitted = await everyHelp(columns);
      for (const [words, help] of fitted) {
        const tooLong = help.split('\n').filter((line) => line.length > columns && line.trim().includes(' '));
        expect(tooLong, words).to.deep.equal([]);
        expect(new Set(help.split(/\s+/)), words).to.deep.equal(new Set(whole.get(words)?.split(/\s+/)));
      }
    });
  }
});

describe('A command with options', () => {
  const seen: unknown[] = [];
  const verification = command({
    examples: [],
    exitCodes: { 0: 'fine', 3: 'not fine' },
    options: (parser) =>
      parser.positional('roots', { type: 'string' }).option('archive', { type: 'string', requiresArg: true }),
    async run({ roots, archive }, settings) {
      seen.push({ roots, archive, settings });
      return 3;
    },
  });
  const verify = {
    usage: 'verify [roots]',
    summary: 'Verify something',
    page: 'docs/auditing.md',
    load: async () => verification,
  };

  it('gets its options as typed values, and its settings', async () => {
    expect(await run(['verify', '7:00ab', '--archive', '007', '--Service:A=1'], undefined, [verify])).to.include({
      code: 3,
    });
    expect(seen).to.deep.equal([{ roots: '7:00ab', archive: '007', settings: [{ key: 'Service:A', value: '1' }] }]);
  });

  it('refuses unknown options and missing values', async () => {
    expect(await run(['verify', '--archived=x'], undefined, [verify])).to.include({ code: 2 });
    expect(await run(['verify', '--archive'], undefined, [verify])).to.include({ code: 2 });
  });
});
