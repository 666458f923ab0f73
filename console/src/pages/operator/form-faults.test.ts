import { describe, expect, it } from '@jest/globals';
import { formFaults } from './form-faults.js';

const refused = (field: string | null, message: string) => Object.assign(new Error(message), { field });

describe('the faults of a form', () => {
  it('stand at their field, without its name', () => {
    const { at, shown } = formFaults(refused('model.output_limit_tokens', 'model.output_limit_tokens must be from 1 to 100.'), 'model');
    expect([at('output_limit_tokens'), at('context_limit_tokens'), shown]).toEqual([
      'must be from 1 to 100.',
      undefined,
      ['model.output_limit_tokens'],
    ]);
    expect(
      formFaults(refused('model.targets[0].upstream_id', 'model.targets[0].upstream_id: Field required'), 'model').at(
        'targets[0].upstream_id',
      ),
    ).toBe('Field required');
  });

  it('of one alias stand at the list of them', () => {
    expect(formFaults(refused('model.aliases[2]', 'model.aliases[2] must begin with a letter.'), 'model').at('aliases')).toBe(
      'must begin with a letter.',
    );
  });

  it('of other fields and other kinds are left to the form as a whole', () => {
    for (const error of [refused('secret', 'secret is too long.'), refused(null, 'No.'), new Error('broken'), null])
      expect(formFaults(error, 'model').shown).toEqual([]);
  });
});
