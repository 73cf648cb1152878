import { expect } from 'chai';
import { type ArchiveRequest, auditArchiveCommand } from '../../../composition/commands/audit-archive.ts';
import { auditBundleCommand, type BundleRequest } from '../../../composition/commands/audit-bundle.ts';
import { auditExportCommand, type ExportRequest } from '../../../composition/commands/audit-export.ts';
import { auditVerifyCommand, type VerifyRequest } from '../../../composition/commands/audit-verify.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';
import { commandNamed, refusalOf, runCommandLine } from '../../support/cli-run.ts';

const ROOT = '0123456789abcdef'.repeat(4);

type Request = VerifyRequest | ArchiveRequest | ExportRequest | BundleRequest;

async function run(...argv: readonly string[]) {
  const asked: Request[] = [];
  const keep = async (request: Request) => {
    asked.push(request);
    return 3;
  };
  const commands = [
    commandNamed('audit-verify', auditVerifyCommand(keep)),
    commandNamed('audit-archive', auditArchiveCommand(keep)),
    commandNamed('audit-export', auditExportCommand(keep)),
    commandNamed('audit-bundle', auditBundleCommand(keep)),
  ];
  return { ...(await runCommandLine(commands, argv)), asked };
}

describe('mandate audit-verify', () => {
  const subjectOf = async (...options: readonly string[]) => {
    const [asked] = (await run('audit-verify', ...options)).asked as readonly VerifyRequest[];
    return asked?.subject;
  };

  it('accepts no argument or several marks, and exits with the code of the verification', async () => {
    const nothing = {
      kind: 'ledger',
      marks: [],
      policy: undefined,
      note: undefined,
      jwks: undefined,
      recordedKeys: false,
    };
    expect(await run('audit-verify'))
      .to.include({ code: 3 })
      .and.deep.include({ asked: [{ subject: nothing, json: false }] });
    const { asked } = await run('audit-verify', `3:${ROOT},12:${ROOT}`, '--json');
    const marks = [3, 12].map((checkpointId) => ({ checkpointId, rootHash: ROOT }));
    expect(asked).to.deep.equal([{ subject: { ...nothing, marks }, json: true }]);
    // The list of marks may follow an option without a value.
    expect((await run('audit-verify', '--json', `3:${ROOT}`)).asked).to.deep.equal([
      { subject: { ...nothing, marks: [{ checkpointId: 3, rootHash: ROOT }] }, json: true },
    ]);
  });

  it('accepts keys from a file, over https, and over http from this machine', async () => {
    for (const [given, jwks] of [
      ['keys.json', { kind: 'file', path: 'keys.json' }],
      ['https://mandate.example/jwks.json', { kind: 'url', url: 'https://mandate.example/jwks.json' }],
      ['http://127.0.0.1:5100/jwks.json', { kind: 'url', url: 'http://127.0.0.1:5100/jwks.json' }],
      ['http://[::1]/jwks.json', { kind: 'url', url: 'http://[::1]/jwks.json' }],
    ] as const) {
      expect(await subjectOf('--jwks', given), given).to.deep.include({ kind: 'ledger', jwks });
    }
  });

  it('believes the keys that the ledger names only if it is asked to', async () => {
    expect(await subjectOf('--recorded-keys')).to.include({ kind: 'ledger', recordedKeys: true });
  });

  it('accepts a bundle, with or without a policy', async () => {
    const bundle = ['--bundle', 'evidence.json'];
    const subject = { kind: 'bundle', bundle: 'evidence.json', policy: undefined };
    expect(await subjectOf(...bundle)).to.deep.equal(subject);
    expect(await subjectOf(...bundle, '--policy', 'policy.json')).to.deep.equal({ ...subject, policy: 'policy.json' });
  });

  it('accepts an export, with marks and keys', async () => {
    const subject = { kind: 'export', archive: 'september.gz', marks: [], jwks: undefined };
    expect(await subjectOf('--archive', 'september.gz')).to.deep.equal(subject);
    expect(await subjectOf('--archive', 'september.gz', '--jwks', 'keys.json', `3:${ROOT}`)).to.deep.equal({
      ...subject,
      marks: [{ checkpointId: 3, rootHash: ROOT }],
      jwks: { kind: 'file', path: 'keys.json' },
    });
  });

  it('accepts a policy for the ledger, with a note of its log or the address of the log', async () => {
    const url = 'https://mandate.example/log';
    const address = { kind: 'url', url: `${url}/checkpoint` };
    for (const [option, note] of [
      [['--note', 'kept.note'], { kind: 'file', path: 'kept.note' }],
      [['--log', url], address],
      [['--log', `${url}//`], address],
      [[], undefined],
    ] as const) {
      expect(await subjectOf('--policy', 'policy.json', ...option)).to.deep.include({ policy: 'policy.json', note });
    }
  });

  for (const [title, argv] of [
    ['a policy for an export', ['--archive', 'a', '--policy', 'b']],
    ['a note and the address of a log', ['--note', 'a', '--log', 'https://mandate.example/log']],
    ['a note for an export', ['--archive', 'a', '--note', 'b']],
    ['the address of a log for a bundle', ['--bundle', 'a', '--log', 'https://mandate.example/log']],
    ['a policy and recorded keys', ['--policy', 'a', '--recorded-keys']],
    ['two notes', ['--note', 'a', '--note', 'b']],
    ['a log over http from another machine', ['--log', 'http://mandate.example/log']],
    ['a log that is no address', ['--log', 'mandate.example/log']],
    ['a bundle and marks', ['--bundle', 'a', `3:${ROOT}`]],
    ['a bundle and an archive', ['--bundle', 'a', '--archive', 'b']],
    ['a bundle and keys', ['--bundle', 'a', '--jwks', 'b']],
    ['a bundle and recorded keys', ['--bundle', 'a', '--policy', 'b', '--recorded-keys']],
    ['an archive and recorded keys', ['--archive', 'a', '--recorded-keys']],
    ['two bundles', ['--bundle', 'a', '--bundle', 'b']],
    ['a mark without a root', ['3']],
    ['a root that is too short', [`3:${ROOT.slice(1)}`]],
    ['a root in uppercase', [`3:${ROOT.toUpperCase()}`]],
    ['checkpoint 0', [`0:${ROOT}`]],
    ['a list with a trailing comma', [`3:${ROOT},`]],
    ['an empty list', ['']],
    ['two lists', [`3:${ROOT}`, `4:${ROOT}`]],
    ['two archives', ['--archive', 'a', '--archive', 'b']],
    ['an archive without a name', ['--archive', '']],
    ['keys over http from another machine', ['--jwks', 'http://mandate.example/jwks.json']],
    ['a host name that begins like a loopback address', ['--jwks', 'http://127.0.0.1.example/jwks.json']],
    ['a keys URL of another scheme', ['--jwks', 'file:///etc/passwd']],
    ['a keys URL with a password', ['--jwks', 'https://a:b@mandate.example/']],
    ['an unknown option', ['--fast']],
    ['a word as a boolean', ['--json=maybe']],
    ['a number as a boolean', ['--json=1']],
    ['an empty boolean', ['--json=']],
  ] as const) {
    it(`refuses ${title} with exit code 2 and a sentence that does not repeat the value`, async () => {
      const { code, out, err, asked } = await run('audit-verify', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).to.match(refusalOf('audit-verify'));
      expect(err).not.to.include('passwd').and.not.to.include(ROOT.slice(1));
      expect(err).not.to.include('Unreadable arguments');
    });
  }
});

describe('mandate audit-archive', () => {
  it('accepts a directory, and optionally the first month that stays', async () => {
    expect((await run('audit-archive', '--before', '2026-11', '--to', '/archive')).asked).to.deep.equal([
      { before: '2026-11', directory: '/archive', jwks: undefined, json: false },
    ]);
    expect((await run('audit-archive', '--to', '/archive', '--jwks', 'keys.json', '--json')).asked).to.deep.equal([
      { before: undefined, directory: '/archive', jwks: { kind: 'file', path: 'keys.json' }, json: true },
    ]);
  });

  for (const [title, argv] of [
    ['a missing directory', ['--before', '2026-11']],
    ['a directory without a name', ['--to', '']],
    ['month 13', ['--to', '/archive', '--before', '2026-13']],
    ['a day', ['--to', '/archive', '--before', '2026-11-01']],
    ['a month of one digit', ['--to', '/archive', '--before', '2026-1']],
    ['an empty month', ['--to', '/archive', '--before', '']],
    ['two months', ['--to', '/archive', '--before', '2026-10', '--before', '2026-11']],
    ['two directories', ['--to', '/archive', '--to', '/other']],
  ] as const) {
    it(`refuses ${title} with exit code 2 and a sentence`, async () => {
      const { code, out, err, asked } = await run('audit-archive', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).to.match(refusalOf('audit-archive'));
    });
  }

  it('names a missing argument', async () => {
    expect((await run('audit-archive')).err).to.match(
      /^mandate: Missing required argument: --to\. For example: mandate audit-archive .*--to \/var\/archive\n/,
    );
  });
});

describe('mandate audit-export', () => {
  it('accepts a format, and optionally the number after which the export begins', async () => {
    expect((await run('audit-export', '--format', 'ocsf')).asked).to.deep.equal([{ format: 'ocsf', after: 0 }]);
    expect((await run('audit-export', '--format', 'ocsf', '--after', '4711')).asked).to.deep.equal([
      { format: 'ocsf', after: 4711 },
    ]);
  });

  for (const [title, argv] of [
    ['a missing format', []],
    ['an unknown format', ['--format', 'cef']],
    ['two formats', ['--format', 'ocsf', '--format', 'ocsf']],
    ['a negative number', ['--format', 'ocsf', '--after=-1']],
    ['a number with an exponent', ['--format', 'ocsf', '--after', '1e3']],
    ['a fraction', ['--format', 'ocsf', '--after', '1.5']],
    ['an empty number', ['--format', 'ocsf', '--after', '']],
    ['two numbers', ['--format', 'ocsf', '--after', '1', '--after', '2']],
    ['a number that is not exact', ['--format', 'ocsf', '--after', '9007199254740991']],
  ] as const) {
    it(`refuses ${title} with exit code 2 and a sentence`, async () => {
      const { code, out, err, asked } = await run('audit-export', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).to.match(refusalOf('audit-export'));
    });
  }
});

describe('mandate audit-bundle', () => {
  const nothing = { taskId: undefined, sponsor: undefined, agentId: undefined, from: undefined, to: undefined };
  const TASK = 'task_01M31S7W68TMK7WDX8YKPSYT00';

  it('accepts a task, a person, an agent, or a range, each also into a file', async () => {
    const to = parseRangeEnd('2026-10-31');
    for (const [argv, selection] of [
      [['--task', TASK], { taskId: TASK }],
      [['--sponsor', 'ada'], { sponsor: 'ada' }],
      [['--agent', 'jira', '--to', '2026-10-31'], { agentId: 'jira', to }],
      [['--from', '2026-10-01'], { from: parseRangeStart('2026-10-01') }],
    ] as const) {
      const request = {
        selection: { ...nothing, ...selection },
        jwks: undefined,
        recordedKeys: false,
        withoutLog: false,
      };
      expect((await run('audit-bundle', ...argv)).asked).to.deep.equal([{ ...request, out: undefined }]);
      expect((await run('audit-bundle', '--out', '-', ...argv)).asked).to.deep.equal([{ ...request, out: undefined }]);
      const more = ['--out', 'a', '--jwks', 'keys', '--recorded-keys', '--without-log'];
      const jwks = { kind: 'file', path: 'keys' };
      expect((await run('audit-bundle', ...argv, ...more)).asked).to.deep.equal([
        { ...request, out: 'a', jwks, recordedKeys: true, withoutLog: true },
      ]);
    }
  });

  for (const [title, argv] of [
    ['no selection', []],
    ['a task that is none', ['--task', 'task_1']],
    ['two tasks', ['--task', TASK, '--task', TASK]],
    ['a task and a range', ['--task', TASK, '--from', '2026-10-01']],
    ['a task and a person', ['--task', TASK, '--sponsor', 'ada']],
    ['an agent that is none', ['--agent', 'A B']],
    ['an empty person', ['--sponsor', '']],
    ['a date that does not exist', ['--from', '2026-02-30']],
    ['a range that ends before it begins', ['--from', '2026-10-02', '--to', '2026-09-30']],
    ['an empty file name', ['--sponsor', 'ada', '--out', '']],
  ] as const) {
    it(`refuses ${title} with exit code 2 and a sentence`, async () => {
      const { code, out, err, asked } = await run('audit-bundle', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).to.match(refusalOf('audit-bundle'));
    });
  }
});
