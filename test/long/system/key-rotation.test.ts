import '../../support/full-length.ts';
import '../../system/key-rotation.test.ts';
