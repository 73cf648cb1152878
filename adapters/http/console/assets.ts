/** The files that the pages of the console load. */

import { readAsset, readCommonStyle, readMark, readRenewal } from '../browser/assets.ts';

export const assets = {
  common: readCommonStyle(''),
  style: readAsset(import.meta.url, '', 'console', 'css'),
  views: readAsset(import.meta.url, '', 'views', 'css'),
  records: readAsset(import.meta.url, '', 'records', 'css'),
  stream: readAsset(import.meta.url, '', 'stream', 'js'),
  verify: readAsset(import.meta.url, '', 'verify', 'js'),
  renewal: readRenewal(''),
  mark: readMark(''),
} as const;
