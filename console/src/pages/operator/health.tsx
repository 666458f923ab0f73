// Health.
import { PageHeader } from '../../ui/layout.js';

export default function Health() {
  return <PageHeader title="Tollgate" />;
}
