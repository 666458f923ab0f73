import { describe, expect, it } from '@jest/globals';
import { type ApiFault, wordsAtField } from '../../../i18n/errors.js';
import { formFaults } from './form-faults.js';

const fault = (field: string | null, rule: string | null, params = {}): Error & ApiFault =>
  Object.assign(new Error('From the API.'), { code: 'invalid_request', field, rule, params });
const faultsOf = (error: unknown) => formFaults(error, 'model', (each) => wordsAtField(each, 'en'));

describe('the faults of a form', () => {
  it('are shown at their field, without its name', () => {
    const { at, shown } = faultsOf(fault('model.output_limit_tokens', 'range', { min: '1', max: '100' }));
    expect([at('output_limit_tokens'), at('context_limit_tokens'), shown]).toEqual([
      'Must be from 1 to 100.',
      undefined,
      ['model.output_limit_tokens'],
    ]);
    expect(faultsOf(fault('model.routes[0].upstream_id', 'required')).at('routes[0].upstream_id')).toBe('Is required.');
  });

  it.each(['aliases', 'capabilities', 'targets'])('of one entry of %s are shown at the list', (list) => {
    expect(faultsOf(fault(`model.${list}[2]`, 'model_name', { max: '200' })).at(list)).toContain('begin with a letter');
  });

  it('of other fields and of other kinds are shown for the whole form', () => {
    for (const error of [fault('secret', 'max_length', { max: '9' }), fault(null, null), new Error('broken'), null])
      expect(faultsOf(error).shown).toEqual([]);
  });
});
