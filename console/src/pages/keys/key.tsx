// KeyPage.
import { PageHeader } from '../../ui/layout.js';

export default function KeyPage() {
  return <PageHeader title="Tollgate" />;
}
