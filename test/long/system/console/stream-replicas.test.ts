import '../../../support/full-length.ts';
import '../../../system/console/stream-replicas.test.ts';
