// How upstreams are shown: never with their secret.
import { type Upstream, WireFormat } from '#proto/inference/v1/inference.js';
import { instantJson, type View } from '../output.js';
import { wordsOf } from '../parse.js';

/** The wire formats in words. */
export const wireFormats = wordsOf<WireFormat>(WireFormat, 'WIRE_FORMAT_');

/** An upstream. */
export const upstreamView: View<Upstream> = {
  json: (upstream) => ({
    id: upstream.id,
    wire_format: wireFormats.of(upstream.wireFormat),
    base_url: upstream.baseUrl,
    secret_last_four: upstream.secretLastFour === '' ? null : upstream.secretLastFour,
    allow_private_network: upstream.allowPrivateNetwork,
    enabled: upstream.enabled,
    managed: upstream.managed,
    created_at: instantJson(upstream.createdAtMs),
  }),
  columns: [
    { title: 'upstream', text: (upstream) => upstream.id },
    { title: 'format', text: (upstream) => wireFormats.of(upstream.wireFormat) },
    { title: 'address', text: (upstream) => upstream.baseUrl || 'built in' },
    { title: 'secret', text: (upstream) => (upstream.secretLastFour === '' ? 'none' : `…${upstream.secretLastFour}`) },
    { title: 'state', text: (upstream) => (upstream.enabled ? 'enabled' : 'disabled') },
    { title: 'set by', text: (upstream) => (upstream.managed ? 'configuration' : 'operator') },
  ],
};
