// Receipt.
import { PageHeader } from '../../ui/layout.js';

export default function Receipt() {
  return <PageHeader title="Tollgate" />;
}
