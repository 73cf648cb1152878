import '../../support/full-length.ts';
import '../../system/stopping.test.ts';
