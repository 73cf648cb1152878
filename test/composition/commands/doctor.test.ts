import { expect } from 'chai';
import { renderFindings } from '../../../adapters/cli/findings-report.ts';
import { doctorCommand } from '../../../composition/commands/doctor.ts';
import { commandNamed, runCommandLine } from '../../support/cli-run.ts';

async function run(...argv: readonly string[]) {
  const asked: unknown[] = [];
  const command = doctorCommand(async (request) => {
    asked.push(request);
    return 3;
  });
  return { ...(await runCommandLine([commandNamed('doctor', command)], argv)), asked };
}

describe('mandate doctor', () => {
  it('passes its options on and exits with the code of the run', async () => {
    expect(await run('doctor')).to.deep.include({
      code: 3,
      asked: [{ subjectToken: false, person: false, json: false }],
    });
    expect((await run('doctor', '--subject-token', '-', '--person', '--json')).asked).to.deep.equal([
      { subjectToken: true, person: true, json: true },
    ]);
  });

  it('lists its exit codes in its help', async () => {
    expect((await run('doctor', '--help')).out).to.match(
      /Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 +a check failed/,
    );
  });

  for (const [title, argv] of [
    ['a token as an argument', ['--subject-token', 'eyJhbGciOi']],
    ['a token as an argument after =', ['--subject-token=eyJhbGciOi']],
    ['--person without --subject-token', ['--person']],
    ['an unknown argument', ['eyJhbGciOi']],
  ] as const) {
    it(`refuses ${title} with exit code 2, and does not print the argument`, async () => {
      const { code, out, err, asked } = await run('doctor', ...argv);
      expect({ code, out, asked }).to.deep.equal({ code: 2, out: '', asked: [] });
      expect(err).not.to.include('eyJ');
    });
  }
});

describe('The report of the doctor', () => {
  const findings = [
    { check: 'sink', status: 'skipped', sentence: 'There is none.' },
    { check: 'signing keys', status: 'failed', sentence: 'There is none.', remedy: 'Make one.' },
    { check: 'outbox', status: 'warning', sentence: 'Much waits.', remedy: 'Look.' },
  ] as const;

  it('has a line for each check, with its remedy, and counts the findings of each status', () => {
    expect(renderFindings(findings, false).split('\n')).to.deep.equal([
      'skipped  sink          There is none.',
      'failed   signing keys  There is none. Make one.',
      'warning  outbox        Much waits. Look.',
      '1 warning, 1 failed, 1 skipped.',
      '',
    ]);
  });

  it('shows the number of each character that a name hides', () => {
    const sentence = 'Service__\u202eTIDUA\u200b is not a setting of this service and is ignored.';
    const hostile = [{ check: 'settings', status: 'warning', sentence } as const];
    expect(renderFindings(hostile, false).split('\n')[0]).to.equal(
      'warning  settings  Service__\\u{202e}TIDUA\\u{200b} is not a setting of this service and is ignored.',
    );
    const json = renderFindings(hostile, true);
    expect(json).to.match(/^[ -~]+\n$/);
    expect(JSON.parse(json)[0].sentence).to.equal(sentence);
  });

  it('is a JSON array whose objects have every member', () => {
    expect(JSON.parse(renderFindings(findings, true))).to.deep.equal(
      findings.map((finding) => ({ remedy: null, ...finding })),
    );
  });
});
