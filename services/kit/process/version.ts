// The version of Tollgate, as package.json has it.
import { readFileSync } from 'node:fs';
import { root } from '../root.js';

/** For example "0.1.0". */
export const tollgateVersion: string = (JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string }).version;
