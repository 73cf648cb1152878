import '../../support/full-length.ts';
import '../../system/shared-signals.test.ts';
