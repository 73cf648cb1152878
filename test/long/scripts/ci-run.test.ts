import '../../support/full-length.ts';
import '../../scripts/ci-run.test.ts';
