import '../../support/full-length.ts';
import '../../system/histories.test.ts';
