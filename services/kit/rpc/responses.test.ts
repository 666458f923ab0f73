import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { Responses } from './responses.js';

/** Numbers, of which two are never read at the same time. */
class Numbers extends Responses {
  #isReading = false;
  #last = 0;

  protected begin(): undefined {
    return undefined;
  }

  protected async read(): Promise<IteratorResult<number>> {
    expect(this.#isReading).toBe(false);
    this.#isReading = true;
    await turn();
    this.#isReading = false;
    this.#last += 1;
    return { done: false, value: this.#last };
  }

  protected onDisconnect(): undefined {
    expect(this.#isReading).toBe(false);
    return undefined;
  }
}

describe('responses', () => {
  it('are read one after another, also for a consumer that requests several', async () => {
    const numbers = new Numbers();
    const [first, second] = [numbers.next(), numbers.next()];
    await first;
    // While the second is read.
    const third = numbers.next();
    const ended = numbers.return();
    expect((await Promise.all([first, second, third])).map(({ value }) => value)).toEqual([1, 2, 3]);
    expect(await ended).toMatchObject({ done: true });
  });
});
