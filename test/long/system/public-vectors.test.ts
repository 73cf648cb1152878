import '../../support/full-length.ts';
import '../../system/public-vectors.test.ts';
