import type { DoctorRequest } from '../../adapters/cli/commands/doctor.ts';
import { exitCode } from '../../adapters/cli/exit-code.ts';
import { CHECK_FAILED, renderFindings } from '../../adapters/cli/findings-report.ts';
import type { SettingArgument } from '../../adapters/cli/setting-arguments.ts';
import { systemClock } from '../../adapters/system/system-clock.ts';
import { doctorSettings } from '../doctor/doctor-settings.ts';
import { examineEverything } from '../doctor/examinations.ts';
import { explainToken } from '../doctor/explain-token.ts';
import { running, sources } from './running.ts';

/** What is left then, such as a name server that does not answer, has nobody who waits for it. */
const EXIT_LIMIT_MS = 200;

/** Looks whether the service could do its work, and says of each thing how it stands. */
export async function doctor(request: DoctorRequest, overrides: readonly SettingArgument[]): Promise<number> {
  const code = await running(
    async () => {
      const settings = doctorSettings(sources(overrides));
      const clock = systemClock();
      const findings = request.subjectToken
        ? await explainToken(settings, clock, { stdin: process.stdin, person: request.person })
        : await examineEverything(settings, clock);
      process.stdout.write(renderFindings(findings, request.json));
      return findings.some(({ status }) => status === 'failed') ? CHECK_FAILED : exitCode.done;
    },
    { log: process.stderr },
  );
  setTimeout(() => process.exit(code), EXIT_LIMIT_MS).unref();
  return code;
}
