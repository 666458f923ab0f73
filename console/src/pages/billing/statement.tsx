// Statement.
import { PageHeader } from '../../ui/layout.js';

export default function Statement() {
  return <PageHeader title="Tollgate" />;
}
