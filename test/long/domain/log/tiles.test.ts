import '../../../support/full-length.ts';
import '../../../domain/log/tiles.test.ts';
