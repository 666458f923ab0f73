// Where traces can be opened: a setting of the gateway that the CLI reads too.
import type { Setting } from './settings.js';

/** The address of a trace, with `{trace_id}` in the place of its id. */
export const traceUrl: Setting<string | undefined> = {
  env: 'TOLLGATE_GATEWAY_TRACE_URL',
  description:
    'where traces can be opened, for example https://jaeger.example.com/trace/{trace_id}: usage records in the console and calls in the CLI link there; if unset, they show only the id',
  default: undefined,
  parse(value) {
    if (!value.includes('{trace_id}') || !/^https?:\/\//.test(value) || !URL.canParse(value.replaceAll('{trace_id}', '0'))) {
      throw new Error('must be an address with {trace_id} in it, such as https://jaeger.example.com/trace/{trace_id}');
    }
    return value;
  },
};
