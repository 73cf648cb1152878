import { expect } from 'chai';
import { type ArchiveRequest, auditArchiveCommand } from '../../../../adapters/cli/commands/audit-archive.ts';
import { auditVerifyCommand, type VerifyRequest } from '../../../../adapters/cli/commands/audit-verify.ts';
import { runCli } from '../../../../adapters/cli/run-cli.ts';

const ROOT = '0123456789abcdef'.repeat(4);

async function run(...argv: readonly string[]) {
  const asked: (VerifyRequest | ArchiveRequest)[] = [];
  const [out, complaints]: [string[], string[]] = [[], []];
  const keep = async (request: VerifyRequest | ArchiveRequest) => {
    asked.push(request);
    return 3;
  };
  const code = await runCli(argv, [auditVerifyCommand(keep), auditArchiveCommand(keep)], {
    out: (text) => out.push(text),
    writeError: (text) => complaints.push(text),
  });
  return { code, out: out.join(''), complaints: complaints.join(''), asked };
}

describe('audit-verify on the command line', () => {
  it('takes no argument, or several marks at once, and ends with the code of the verification', async () => {
    const nothing = { marks: [], archive: undefined, jwks: undefined, json: false };
    expect(await run('audit-verify'))
      .to.include({ code: 3 })
      .and.deep.include({ asked: [nothing] });
    const { asked } = await run('audit-verify', `3:${ROOT},12:${ROOT}`, '--json');
    expect(asked).to.deep.equal([
      {
        ...nothing,
        marks: [
          { checkpointId: 3, rootHash: ROOT },
          { checkpointId: 12, rootHash: ROOT },
        ],
        json: true,
      },
    ]);
    // The list of marks may follow what takes no value.
    expect((await run('audit-verify', '--json', `3:${ROOT}`)).asked).to.deep.equal([
      { ...nothing, marks: [{ checkpointId: 3, rootHash: ROOT }], json: true },
    ]);
  });

  it('takes keys from a file, from https, and from this machine', async () => {
    for (const [given, jwks] of [
      ['keys.json', { kind: 'file', path: 'keys.json' }],
      ['https://mandate.example/jwks.json', { kind: 'url', url: 'https://mandate.example/jwks.json' }],
      ['http://127.0.0.1:5100/jwks.json', { kind: 'url', url: 'http://127.0.0.1:5100/jwks.json' }],
      ['http://[::1]/jwks.json', { kind: 'url', url: 'http://[::1]/jwks.json' }],
    ] as const) {
      expect((await run('audit-verify', '--jwks', given)).asked[0], given).to.deep.include({ jwks });
    }
  });

  for (const [title, argv] of [
    ['a mark without a root', ['3']],
    ['a root that is too short', [`3:${ROOT.slice(1)}`]],
    ['a root in uppercase', [`3:${ROOT.toUpperCase()}`]],
    ['checkpoint 0', [`0:${ROOT}`]],
    ['a list with an end missing', [`3:${ROOT},`]],
    ['an empty list', ['']],
    ['two lists', [`3:${ROOT}`, `4:${ROOT}`]],
    ['two exports', ['--archive', 'a', '--archive', 'b']],
    ['an export without a name', ['--archive', '']],
    ['keys that anybody on the way can change', ['--jwks', 'http://mandate.example/jwks.json']],
    ['an address that only looks like this machine', ['--jwks', 'http://127.0.0.1.example/jwks.json']],
    ['keys of another scheme', ['--jwks', 'file:///etc/passwd']],
    ['an address with a password', ['--jwks', 'https://a:b@mandate.example/']],
    ['an option that it does not have', ['--fast']],
    ['a report that may be JSON or not', ['--json=maybe']],
    ['a number for yes', ['--json=1']],
    ['an option that is set to nothing', ['--json=']],
  ] as const) {
    it(`refuses ${title} with 2 and a sentence that repeats nothing, and verifies nothing`, async () => {
      const { code, out, complaints, asked } = await run('audit-verify', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(complaints).to.match(/^mandate: [A-Z-].*\. "mandate --help" shows what there is\.\n$/);
      expect(complaints).not.to.include('passwd').and.not.to.include(ROOT.slice(1));
    });
  }
});

describe('audit-archive on the command line', () => {
  it('takes the first month that stays, which may be left to the settings, and a directory', async () => {
    expect((await run('audit-archive', '--before', '2026-11', '--to', '/archive')).asked).to.deep.equal([
      { before: '2026-11', directory: '/archive', jwks: undefined, json: false },
    ]);
    expect((await run('audit-archive', '--to', '/archive', '--jwks', 'keys.json', '--json')).asked).to.deep.equal([
      { before: undefined, directory: '/archive', jwks: { kind: 'file', path: 'keys.json' }, json: true },
    ]);
  });

  for (const [title, argv] of [
    ['no directory', ['--before', '2026-11']],
    ['a directory without a name', ['--to', '']],
    ['a month that is none', ['--to', '/archive', '--before', '2026-13']],
    ['a day', ['--to', '/archive', '--before', '2026-11-01']],
    ['a month of one digit', ['--to', '/archive', '--before', '2026-1']],
    ['an empty month', ['--to', '/archive', '--before', '']],
    ['two months', ['--to', '/archive', '--before', '2026-10', '--before', '2026-11']],
    ['two directories', ['--to', '/archive', '--to', '/other']],
  ] as const) {
    it(`refuses ${title} with 2 and a sentence, and archives nothing`, async () => {
      const { code, out, complaints, asked } = await run('audit-archive', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(complaints).to.match(/^mandate: .*\. "mandate --help" shows what there is\.\n$/);
    });
  }

  it('names the argument that is missing', async () => {
    expect((await run('audit-archive')).complaints).to.match(/^mandate: Missing required argument: to\. /);
  });
});
