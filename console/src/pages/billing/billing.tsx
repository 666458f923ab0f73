// Billing.
import { PageHeader } from '../../ui/layout.js';

export default function Billing() {
  return <PageHeader title="Tollgate" />;
}
