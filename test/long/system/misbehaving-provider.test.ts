import '../../support/full-length.ts';
import '../../system/misbehaving-provider.test.ts';
