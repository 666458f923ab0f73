// The sandbox's long text: always the same, and never the same sentence twice in a row. Pure.

const heroes = ['The keeper', 'A traveller', 'The old ferryman', 'A child', 'The miller', 'Nobody'];
const actions = [
  'counted every coin',
  'opened the gate',
  'wrote the sum into the book',
  'paid the toll',
  'waited for the bell',
  'crossed the river',
];
const times = ['at dawn', 'before the rain', 'without a word', 'for the second time', 'as agreed', 'and the sum was right'];

/** Yields the sentences of the story, endlessly. */
export function* storySentences(): Generator<string> {
  for (let sentence = 0; ; sentence += 1) {
    // Steps that share no common factor go through all 216 combinations before one repeats.
    const hero = heroes[sentence % heroes.length]!;
    const action = actions[Math.floor(sentence / heroes.length + sentence) % actions.length]!;
    const time = times[Math.floor(sentence / (heroes.length * actions.length) + 2 * sentence) % times.length]!;
    yield `${sentence === 0 ? '' : ' '}${hero} ${action} ${time}.`;
  }
}
