/**
 * Reports a test run to people, and writes its counts to a file for .ci/run. The file is there only if the run came to
 * its end, so a run that is killed or never starts cannot be taken for one that passed.
 */

import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

export default class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures } = this.stats;
      writeFileSync(options.reporterOption.counts, `${passes} ${failures}\n`);
    });
  }
}
