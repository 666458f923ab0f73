// RecordPage.
import { PageHeader } from '../../ui/layout.js';

export default function RecordPage() {
  return <PageHeader title="Tollgate" />;
}
