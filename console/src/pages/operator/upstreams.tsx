// Upstreams.
import { PageHeader } from '../../ui/layout.js';

export default function Upstreams() {
  return <PageHeader title="Tollgate" />;
}
