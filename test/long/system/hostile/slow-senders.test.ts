import '../../../support/full-length.ts';
import '../../../system/hostile/slow-senders.test.ts';
