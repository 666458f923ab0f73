// The version of Tollgate: that of package.json, with the commit that was built as build metadata of semantic versioning.
import { readFileSync } from 'node:fs';
import { root } from '../root.js';

/** Defined by scripts/build.js; empty if the commit is not known. */
declare const BUILD_COMMIT: string | undefined;

const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string };
const commit = typeof BUILD_COMMIT === 'undefined' ? '' : BUILD_COMMIT;

/** For example "0.1.0+28d783be1f", or "0.1.0" if the commit is not known. */
export const tollgateVersion: string = commit === '' ? version : `${version}+${commit}`;
