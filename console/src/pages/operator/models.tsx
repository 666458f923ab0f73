// Models.
import { PageHeader } from '../../ui/layout.js';

export default function Models() {
  return <PageHeader title="Tollgate" />;
}
