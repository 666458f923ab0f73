// An error of the console's API.
import { type Static, Type } from 'typebox';
import { nullable } from './shapes.js';

export const ConsoleError = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'One of a closed list.' }),
      rule: nullable(
        Type.String(),
        'The exact cause, if the code has several. With `params`, a client can show the error in its own language.',
      ),
      params: Type.Record(Type.String(), Type.String(), {
        description: 'The parameters of the message, such as `max` or `needed_nano_usd`.',
      }),
      message: Type.String({ description: 'What is wrong and how to fix it, in English; safe to show.' }),
      field: nullable(Type.String(), 'The field of the body, the parameter or the header that is wrong.'),
      request_id: Type.String(),
    }),
  },
  { title: 'Error' },
);
export type ConsoleError = Static<typeof ConsoleError>['error'];
