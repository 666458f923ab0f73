// One way in which an upstream's stream differs from the vendor's, and those that are the same for every format.
import type { Script } from '../../upstream/script.js';
import type { ExpectedAnswer } from './expect-answer.js';
import type { Path } from './paths.js';

export interface Variant {
  readonly what: string;
  readonly script?: Script;
  readonly expected: ExpectedAnswer | ((path: Path) => ExpectedAnswer);
}

const failed: ExpectedAnswer = { end: { kind: 'failed' } };

/** What a proxy before the upstream sends in place of its answer. */
export const webPages: readonly Variant[] = [
  {
    what: 'a web page with status 200',
    script: { fault: { kind: 'status', status: 200, body: '<html>Please log in</html>' } },
    expected: failed,
  },
  {
    what: 'a web page with status 502',
    script: { fault: { kind: 'status', status: 502, body: '<html>Bad gateway</html>' } },
    expected: failed,
  },
];
