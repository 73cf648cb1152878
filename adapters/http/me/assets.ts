/** The files that the page loads. */

import { readAsset, readCommonStyle, readMark, readRenewal } from '../browser/assets.ts';

export const ASSETS_BASE = '/me';

export const assets = {
  common: readCommonStyle(ASSETS_BASE),
  style: readAsset(import.meta.url, ASSETS_BASE, 'me', 'css'),
  script: readAsset(import.meta.url, ASSETS_BASE, 'me', 'js'),
  renewal: readRenewal(ASSETS_BASE),
  mark: readMark(ASSETS_BASE),
} as const;
