import { exitCode } from '../../adapters/cli/command.ts';
import { CHECK_FAILED, type DoctorRequest, renderFindings } from '../../adapters/cli/commands/doctor.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/platform/system-clock.ts';
import { examineEverything } from '../doctor/examine-everything.ts';
import { explainToken } from '../doctor/explain-token.ts';
import { doctorSettings } from '../doctor/settings.ts';
import { runReport, settingSources } from './run-command.ts';

/** After the report, pending requests such as a DNS query are abandoned: nothing waits for them. */
const EXIT_LIMIT_MS = 200;

/** Runs the checks, or explains a subject token, and prints the findings. Resolves with the exit code. */
export async function doctor(request: DoctorRequest, overrides: readonly SettingArgument[]): Promise<number> {
  const code = await runReport(async () => {
    const settings = doctorSettings(settingSources(overrides));
    const clock = systemClock();
    const findings = request.subjectToken
      ? await explainToken(settings, clock, { stdin: process.stdin, person: request.person })
      : await examineEverything(settings, clock);
    process.stdout.write(renderFindings(findings, request.json));
    return findings.some(({ status }) => status === 'failed') ? CHECK_FAILED : exitCode.done;
  });
  setTimeout(() => process.exit(code), EXIT_LIMIT_MS).unref();
  return code;
}
