// The classes of tokens that are priced, in the order in which they are shown. Pure.
import type { TokenClass } from '../../../api/operator-catalog.js';

export const priceClasses: readonly TokenClass[] = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'reasoning'];
