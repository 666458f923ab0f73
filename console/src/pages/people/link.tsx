// LinkPage.
import { PageHeader } from '../../ui/layout.js';

export default function LinkPage() {
  return <PageHeader title="Tollgate" />;
}
