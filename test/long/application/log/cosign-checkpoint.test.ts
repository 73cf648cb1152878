import '../../../support/full-length.ts';
import '../../../application/log/cosign-checkpoint.test.ts';
