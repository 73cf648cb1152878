import '../../support/full-length.ts';
import '../../system/races.test.ts';
