import { describe, expect, it } from '@jest/globals';
import { figuresOf, instantOf, typedOf, wallClock } from './price-form.js';

const typed = { input: ' $2.5 ', cache_read: '', cache_write_5m: '3.125', cache_write_1h: '', output: '10', reasoning: '' };

describe('the form of a draft', () => {
  it('uses the input price for empty fields, and the output price for reasoning', () => {
    expect(figuresOf(typed)).toEqual({
      input: '2.5',
      cache_read: '2.5',
      cache_write_5m: '3.125',
      cache_write_1h: '2.5',
      output: '10',
      reasoning: null,
    });
    expect(figuresOf({ ...typed, reasoning: '12', cache_read: '0' })).toMatchObject({ reasoning: '12', cache_read: '0' });
  });

  it('rejects commas', () => {
    expect(figuresOf({ ...typed, output: '1,000' }).output).toBe('1,000');
  });

  it('begins with the current figures', () => {
    const figures = figuresOf(typed);
    expect(typedOf(figures)).toEqual({ ...figures, reasoning: '' });
    expect(typedOf(undefined).input).toBe('');
  });

  it('reads and writes local times in the chosen zone', () => {
    expect(instantOf('2027-02-01T09:30', 'utc')).toBe('2027-02-01T09:30:00.000Z');
    expect(instantOf('', 'utc')).toBeNull();
    expect(instantOf('soon', 'local')).toBeNull();
    for (const zone of ['utc', 'local'] as const) {
      for (const wall of ['2027-02-01T09:30', '2027-07-31T23:59']) expect(wallClock(instantOf(wall, zone)!, zone)).toBe(wall);
    }
  });
});
