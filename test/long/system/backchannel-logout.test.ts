import '../../support/full-length.ts';
import '../../system/backchannel-logout.test.ts';
