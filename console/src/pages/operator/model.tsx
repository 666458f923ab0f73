// ModelPage.
import { PageHeader } from '../../ui/layout.js';

export default function ModelPage() {
  return <PageHeader title="Tollgate" />;
}
